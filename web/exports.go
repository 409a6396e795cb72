package web

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/reservation"
)

// exportsPage is the history of exports.
type exportsPage struct {
	Jobs     []jobRow
	Statuses []link
	All      bool   // everybody's
	MayAll   bool   // everybody's may be asked for
	Other    string // the address of everybody's, or of one's own
	Next     string
	Newest   string
	Status   string
}

// jobRow is a job as the history shows it.
type jobRow struct {
	ID       string
	Status   export.Status
	Alive    bool
	Mine     bool
	Percent  int
	Phase    string
	By       string
	Reason   string
	Personal bool
	Format   string
	Filter   []string
	Sort     string
	Columns  []string
	Rows     int64
	Expected int64
	Size     int64
	SHA256   string
	Deleted  int64
	Lossy    bool
	Created  time.Time
	Lasted   time.Duration
	Expires  time.Time
	Failure  string
	List     string // the list with the same filter; "": none
	File     string
	Cancel   string
	Again    string
	Failed   bool
}

const historyLimit = 50

// jobStatuses are those that the history can be narrowed to.
var jobStatuses = []export.Status{export.Queued, export.Running, export.Succeeded, export.Failed, export.Canceled, export.Expired}

func (p *pages) exports(r *http.Request, f *frame) error {
	status := export.Status(f.Query.Get("status"))
	if !slices.Contains(jobStatuses, status) {
		status = ""
	}
	mayAll, mayOwn := f.Caller.May(access.ReadAllExports), f.Caller.May(access.CreateExports)
	all := f.Query.Get("all") == "true" || !mayOwn
	if all && !mayAll {
		return p.deny(r.Context(), access.ReadAllExports)
	}
	h := export.History{RequestedBy: f.Caller.Subject, Status: status, Before: f.Query.Get("before"), Limit: historyLimit + 1}
	if all {
		h.RequestedBy = ""
	}
	jobs, err := p.cfg.Jobs.History(r.Context(), h)
	if err != nil {
		return err
	}
	page := &exportsPage{All: all, MayAll: mayAll && mayOwn, Status: string(status)}
	if len(jobs) > historyLimit {
		jobs = jobs[:historyLimit]
		page.Next = historyAddress(all, status, jobs[historyLimit-1].ID)
	}
	if h.Before != "" {
		page.Newest = historyAddress(all, status, "")
	}
	page.Other = historyAddress(!all, status, "")
	page.Statuses = append(page.Statuses, link{Text: f.T("job.any"), To: historyAddress(all, "", ""), Current: status == ""})
	for _, s := range jobStatuses {
		page.Statuses = append(page.Statuses, link{Text: f.T("job." + string(s)), To: historyAddress(all, s, ""), Current: status == s})
	}
	for _, job := range jobs {
		page.Jobs = append(page.Jobs, f.jobRow(job, p.cfg.Now()))
	}
	f.View, f.Title, f.Page = "exports", f.T("exports.title"), page
	return nil
}

func historyAddress(all bool, status export.Status, before string) string {
	query := url.Values{}
	if all {
		query.Set("all", "true")
	}
	if status != "" {
		query.Set("status", string(status))
	}
	if before != "" {
		query.Set("before", before)
	}
	if len(query) == 0 {
		return "/exports"
	}
	return "/exports?" + query.Encode()
}

// jobRow shows a job as it stands now: a file whose time is over counts as
// expired, even before it is removed.
func (f *frame) jobRow(job export.Job, now time.Time) jobRow {
	row := jobRow{
		ID: job.ID, Status: job.Status, By: job.RequestedBy, Mine: job.RequestedBy == f.Caller.Subject,
		Percent: job.Percent(), Reason: job.Request.Reason, Personal: job.Scope.Personal, Format: string(job.Request.Format),
		Filter: f.conditions(f.filter(job.Request.Filter, job.Scope.Personal)), Sort: f.order(job.Request), Columns: f.columns(job.Request.Columns),
		Rows: job.RowsWritten, Expected: job.RowsExpected, Created: job.CreatedAt, List: f.listOf(job),
	}
	if row.Status == export.Succeeded && !job.ExpiresAt.IsZero() && !now.Before(job.ExpiresAt) {
		row.Status = export.Expired
	}
	row.Alive = !row.Status.Final()
	if row.Status == export.Running && job.Phase != "" {
		row.Phase = f.T("phase." + string(job.Phase))
	}
	if !job.FinishedAt.IsZero() && !job.StartedAt.IsZero() {
		row.Lasted = job.FinishedAt.Sub(job.StartedAt)
	}
	if job.Failure != nil && row.Status != export.Succeeded {
		row.Failure = job.Failure.Message
	}
	if job.File != nil {
		row.Size, row.SHA256, row.Expires = job.File.Size, job.File.SHA256, job.ExpiresAt
	}
	if job.Receipt != nil {
		row.Deleted, row.Lossy = job.Receipt.DeletedMeanwhile, len(job.Receipt.Losses.Counts) > 0
	}
	if row.Mine && f.Caller.May(access.CreateExports) {
		row.actions()
	}
	return row
}

// actions gives what its owner can do with the job.
func (j *jobRow) actions() {
	self := "/api/v1/exports/" + url.PathEscape(j.ID)
	switch {
	case j.Alive:
		j.Cancel = self
	case j.Status == export.Succeeded:
		j.File, j.Again = self+"/file", self+"/again"
	default:
		j.Again = self + "/again"
		j.Failed = j.Status == export.Failed || j.Status == export.Canceled
	}
}

// conditions says a filter in words, one line each parameter.
func (s speech) conditions(filter map[string][]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		lines = append(lines, s.condition(name, filter[name]...))
	}
	return lines
}

func (s speech) order(r export.Request) string {
	f, ok := reservation.FieldOf(r.Sort)
	if !ok {
		return ""
	}
	if r.Order == "desc" {
		return s.T("sort.desc", s.FieldTitle(f))
	}
	return s.T("sort.asc", s.FieldTitle(f))
}

func (s speech) columns(keys []string) []string {
	titles := make([]string, len(keys))
	for i, key := range keys {
		titles[i] = key
		if f, ok := reservation.FieldOf(key); ok {
			titles[i] = s.FieldTitle(f)
		}
	}
	return titles
}

// filter gives a filter as the reader may see it: whom rows were looked for by is
// personal too.
func (f *frame) filter(params map[string][]string, personal bool) map[string][]string {
	if f.Caller.May(access.ReadPersonal) {
		return params
	}
	return reservation.MaskFilter(params, personal)
}

// listOf gives the list with an export's filter and sort; "" if that would name
// guests whom the reader may not see.
func (f *frame) listOf(job export.Job) string {
	r := job.Request
	if !reflect.DeepEqual(f.filter(r.Filter, job.Scope.Personal), r.Filter) {
		return ""
	}
	query := url.Values{}
	maps.Copy(query, r.Filter)
	if r.Sort != "" && r.Sort != reservation.DefaultSort.Field || r.Order == "desc" {
		query.Set("_sort", r.Sort)
		query.Set("_order", r.Order)
	}
	return listAddress(query)
}

// ShortID tells jobs apart in a label.
func (j jobRow) ShortID() string { return j.ID[max(0, len(j.ID)-6):] }

// PercentText is the progress as it is shown.
func (j jobRow) PercentText() string { return strconv.Itoa(j.Percent) + " %" }
