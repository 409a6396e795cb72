package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

// Order is the body by which an export is asked for.
type Order struct {
	Dataset  string            `json:"dataset,omitempty" maxLength:"64" doc:"What to export. Default: reservations" example:"reservations"`
	Format   sheet.Format      `json:"format,omitempty" enum:"xlsx,csv" doc:"Default: xlsx"`
	Filter   map[string]Values `json:"filter,omitempty" doc:"The list's own filter parameters: field, field_ne, field_gte, field_lte, field_like, field_null and q" example:"{\"status\": [\"Canceled\", \"No-Show\"], \"check_in_gte\": \"2026-11-01\"}"`
	Sort     string            `json:"sort,omitempty" maxLength:"64" doc:"The field to sort by, as the list's _sort"`
	Order    string            `json:"order,omitempty" enum:"asc,desc,ASC,DESC" doc:"As the list's _order. Default: asc"`
	Columns  []string          `json:"columns,omitempty" nullable:"false" minItems:"1" maxItems:"1000" doc:"Keys of the columns, in order. Default: the dataset's default columns"`
	Language string            `json:"language,omitempty" enum:"ko,en" doc:"Language of the titles"`
	TimeZone string            `json:"time_zone,omitempty" maxLength:"64" doc:"IANA time zone in which times are written" example:"Asia/Seoul"`
	FileName string            `json:"file_name,omitempty" maxLength:"1000" doc:"The file's name as the browser saves it. Made safe, and at most 150 bytes long. Default: dataset and day of the order" example:"예약목록_2026-11.xlsx"`
	Personal bool              `json:"personal,omitempty" doc:"Personal data in the clear; needs pii:read. Default: masked"`
	Reason   string            `json:"reason,omitempty" maxLength:"500" doc:"Why personal data are taken out; needed where personal is true and a column holds some: at least 5 characters, spaces not counted. The file and the audit tell it"`
}

// Values are a filter parameter's values: in JSON a text, or a list of at least one.
type Values []string

// UnmarshalJSON reads a text or a list of texts.
func (v *Values) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		*v = make(Values, 1)
		return json.Unmarshal(b, &(*v)[0])
	}
	return json.Unmarshal(b, (*[]string)(v))
}

// Schema is what huma checks a value against.
func (Values) Schema(huma.Registry) *huma.Schema {
	one, text := 1, &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{OneOf: []*huma.Schema{text, {Type: huma.TypeArray, Items: text, MinItems: &one}}}
}

// orders turns orders into jobs.
type orders struct {
	cfg      Config
	datasets map[string]export.Dataset
	record   func(context.Context, audit.Event) error
}

func newOrders(cfg Config) *orders {
	o := &orders{cfg: cfg, datasets: map[string]export.Dataset{}}
	for _, d := range cfg.Datasets {
		o.datasets[d.Name] = d
	}
	return o
}

// reservationsName is the dataset whose rows the gateway can count.
const reservationsName = "reservations"

// request gives what an order asks for with every default written out, so that
// the job means the same for ever, and everything that is wrong with the order.
func (o *orders) request(order Order) (export.Request, []ProblemItem) {
	r := export.Request{
		Dataset:  cmp.Or(order.Dataset, reservationsName),
		Format:   cmp.Or(order.Format, sheet.XLSX),
		Sort:     order.Sort,
		Order:    cmp.Or(strings.ToLower(order.Order), "asc"),
		Columns:  order.Columns,
		Language: cmp.Or(order.Language, o.cfg.DefaultLanguage),
		TimeZone: cmp.Or(order.TimeZone, o.cfg.DefaultTimeZone),
		Reason:   strings.TrimSpace(order.Reason),
	}
	r.FileName = fileName(order.FileName, r.Format)
	for name, values := range order.Filter {
		if r.Filter == nil {
			r.Filter = make(map[string][]string, len(order.Filter))
		}
		r.Filter[name] = values
	}
	wrong := checkReason(r.Reason)
	if _, err := location(r.TimeZone); err != nil {
		wrong = append(wrong, item("time_zone", fmt.Sprintf("%q is not an IANA time zone, such as Asia/Seoul", r.TimeZone)))
	}
	d, ok := o.datasets[r.Dataset]
	if !ok {
		return r, append(wrong, item("dataset", fmt.Sprintf("there is no dataset %q", r.Dataset)))
	}
	if r.Columns == nil {
		r.Columns = slices.Clone(d.Defaults)
	}
	r.Sort = cmp.Or(r.Sort, d.Sort) // as asked, so that it equals the request that names it
	columns := checkColumns(d, r.Columns)
	for _, w := range checkFilter(d, r) {
		if w.Name != "columns" || len(columns) == 0 { // named one by one already
			wrong = append(wrong, w)
		}
	}
	return r, append(wrong, columns...)
}

func item(name, message string) ProblemItem {
	return ProblemItem{Name: name, Location: "body." + name, Message: message}
}

func checkColumns(d export.Dataset, keys []string) (wrong []ProblemItem) {
	seen := make(map[string]bool, len(keys))
	for i, key := range keys {
		known := slices.ContainsFunc(d.Columns, func(c export.Column) bool { return c.Key == key })
		message := ""
		switch {
		case !known:
			message = fmt.Sprintf("dataset %s has no column %q", d.Name, key)
		case seen[key]:
			message = fmt.Sprintf("column %q is asked twice", key)
		}
		if message != "" {
			wrong = append(wrong, ProblemItem{Name: "columns", Location: fmt.Sprintf("body.columns[%d]", i), Message: message})
		}
		seen[key] = true
	}
	return wrong
}

// checkFilter has the dataset check filter and sort, and translates the names of
// the list's dialect into places in the body.
func checkFilter(d export.Dataset, r export.Request) (wrong []ProblemItem) {
	if d.Check == nil {
		return nil
	}
	err := d.Check(r)
	if err == nil {
		return nil
	}
	f, ok := fault.As(err)
	if !ok || len(f.Fields) == 0 {
		return []ProblemItem{item("filter", fault.Message(err))}
	}
	for _, field := range f.Fields {
		switch field.Name {
		case "_sort", "sort":
			wrong = append(wrong, item("sort", field.Detail))
		case "_order", "order":
			wrong = append(wrong, item("order", field.Detail))
		case "fields", "columns":
			wrong = append(wrong, item("columns", field.Detail))
		case "filter":
			wrong = append(wrong, item("filter", field.Detail))
		default:
			wrong = append(wrong, ProblemItem{Name: field.Name, Location: "body.filter." + field.Name, Message: field.Detail})
		}
	}
	return wrong
}

// place makes a job of the request: stored first, then queued. If the queue does
// not take it, the sweeper brings it there. The same request while a job of it
// is alive gives that job.
func (o *orders) place(ctx context.Context, r export.Request, scope access.Scope, idempotencyKey string) (export.Job, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return export.Job{}, fmt.Errorf("make a job id: %w", err)
	}
	call, now := requestOf(ctx), o.cfg.Now().UTC().Truncate(time.Microsecond) // as exact as the table keeps it
	rows, queue, counted := o.size(ctx, r, scope)
	if err := o.withinRows(ctx, rows, counted); err != nil {
		return export.Job{}, o.refused(ctx, r, err)
	}
	wanted := export.Job{
		ID: id.String(), Request: r, RequestedBy: call.subject, Scope: scope,
		Queue: queue, Status: export.Queued, RowsExpected: rows,
		CreatedAt: now, RunAt: now, TraceParent: call.traceParent,
	}
	log := logger(ctx, o.cfg.Logger)
	log.InfoContext(ctx, "export ordered", "job_id", wanted.ID, "attempt", 0, "dataset", r.Dataset, "format", string(r.Format), "rows_expected", rows)
	if err := o.record(ctx, createEvent(wanted)); err != nil {
		return export.Job{}, err
	}
	job, created, err := o.cfg.Jobs.Insert(ctx, wanted, idempotencyKey)
	if err != nil {
		return export.Job{}, o.refused(ctx, r, fmt.Errorf("insert the job: %w", err))
	}
	log = log.With("job_id", job.ID)
	if !created {
		again := createEvent(job)
		again.Detail = "the same as " + wanted.ID + " asks for"
		if err := o.record(ctx, again); err != nil {
			return export.Job{}, err
		}
		log.InfoContext(ctx, "export is there already", "status", string(job.Status))
		return job, nil
	}
	log.InfoContext(ctx, "export accepted", "attempt", 0, "queue", string(queue))
	// The job exists now: a caller who has gone must not keep it from the queue.
	if err := o.cfg.Queue.Enqueue(context.WithoutCancel(ctx), job); err != nil {
		log.WarnContext(ctx, "job not enqueued; the sweeper will", "error", err)
		return job, nil
	}
	log.InfoContext(ctx, "export enqueued", "attempt", job.Attempt+1, "queue", string(queue))
	return job, nil
}

// countTimeout is how long an order waits for the number of its rows.
const countTimeout = 3 * time.Second

// size asks how many rows the request has and gives it the queue for so many. A
// count that fails does not stop the export: it may be large.
func (o *orders) size(ctx context.Context, r export.Request, scope access.Scope) (rows int64, queue export.Queue, counted bool) {
	if r.Dataset != reservationsName {
		return 0, export.QueueLarge, false
	}
	rows, err := o.count(ctx, r, scope)
	switch {
	case err != nil:
		logger(ctx, o.cfg.Logger).WarnContext(ctx, "rows not counted; taken for a large export", slog.Any("error", err))
		return 0, export.QueueLarge, false
	case rows <= o.cfg.SmallRows:
		return rows, export.QueueSmall, true
	}
	return rows, export.QueueLarge, true
}

func (o *orders) count(ctx context.Context, r export.Request, scope access.Scope) (int64, error) {
	filter, err := reservation.ParseFilter(r.Filter)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	return o.cfg.Reservations.Count(ctx, reservation.Query{Filter: filter, Sort: reservation.DefaultSort, Scope: scope})
}
