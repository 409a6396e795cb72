package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/web"
)

func job(id string, change func(*export.Job)) export.Job {
	j := export.Job{
		ID: id, RequestedBy: "kim", Status: export.Succeeded, RowsExpected: 35_000, RowsWritten: 35_000,
		Request:   export.Request{Dataset: "reservations", Format: "xlsx", Filter: map[string][]string{"status": {"Canceled", "No-Show"}, "check_in_gte": {"2016-01-01"}}, Sort: "check_in", Order: "desc", Columns: []string{"id", "code"}, Reason: hostile},
		CreatedAt: now.Add(-time.Hour), StartedAt: now.Add(-time.Hour), FinishedAt: now.Add(-time.Hour + 75*time.Second), ExpiresAt: now.Add(time.Hour),
		File: &export.File{Size: 923_456, SHA256: "abc"},
	}
	if change != nil {
		change(&j)
	}
	return j
}

func TestJobAsItStands(t *testing.T) {
	const self = "/api/v1/exports/j1"
	download, cancel, again := `href="`+self+`/file"`, `data-method="DELETE" data-url="`+self+`"`, `data-url="`+self+`/again"`
	for _, c := range []struct {
		name     string
		change   func(*export.Job)
		has, not []string
	}{
		{"ready", nil, []string{"Ready", download, again, "Again with the same filter", "35,000", "923 kB", "1 min 15 s", "kept until 1 Dec 2026 01:30", "Check-in: from 1 Jan 2016 · Status: Canceled, No-show", "by Check-in, descending", "&lt;script&gt;"}, []string{cancel, "<progress", "<script>alert"}},
		{"running", func(j *export.Job) {
			j.Status, j.Phase, j.RowsWritten, j.File = export.Running, export.PhaseFetch, 7000, nil
		}, []string{"Running", cancel, `<progress max="100" value="20"`, "7,000 / 35,000", "Writing rows", "data-alive"}, []string{download, again}},
		{"waiting", func(j *export.Job) { j.Status, j.File = export.Queued, nil }, []string{"Waiting", cancel, "data-alive"}, []string{download, again}},
		{"failed", func(j *export.Job) {
			j.Status, j.File, j.Failure = export.Failed, nil, &export.Failure{Message: "The store is full."}
		}, []string{"Failed", again, "Retry", "The store is full."}, []string{download, cancel}},
		{"its time over", func(j *export.Job) { j.ExpiresAt = now }, []string{"Expired", again}, []string{download, cancel, "kept until"}},
		{"personal", func(j *export.Job) { j.Scope.Personal = true }, []string{"personal data in the clear"}, nil},
		{"somebody else's", func(j *export.Job) { j.RequestedBy = "park" }, []string{"Ready"}, []string{download, cancel, again}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.jobs = []export.Job{job("j1", c.change)}
			rec := w.get(boss, "/exports")
			wantAll(t, rec, 200, c.has...)
			wantNone(t, rec, c.not...)
		})
	}
}

func TestWhoseExports(t *testing.T) {
	for _, c := range []struct {
		name, target string
		caller       access.Principal
		status       int
		want         export.History
	}{
		{"mine", "/exports", boss, 200, export.History{RequestedBy: "kim", Limit: 51}},
		{"everybody's", "/exports?all=true&status=failed&before=x", boss, 200, export.History{Status: export.Failed, Before: "x", Limit: 51}},
		{"everybody's without the permission", "/exports?all=true", with(access.CreateExports), 403, export.History{}},
		{"nothing but everybody's", "/exports", with(access.ReadAllExports), 200, export.History{Limit: 51}},
		{"a status that is none", "/exports?status=nonsense", boss, 200, export.History{RequestedBy: "kim", Limit: 51}},
		{"none", "/exports", with(access.ReadReservations), 403, export.History{}},
	} {
		w := newWorld(t, nil)
		if rec := w.get(c.caller, c.target); rec.Code != c.status {
			t.Errorf("%s: %d", c.name, rec.Code)
		}
		var got export.History
		if len(w.histories) > 0 {
			got = w.histories[0]
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Only the event that asks for an export knows its filter: of the others, none
// does not mean that everything went out.
func TestAnEventWithoutAFilterIsNotOfEverything(t *testing.T) {
	w := newWorld(t, nil)
	w.events = []audit.Event{{ID: "e1", Action: audit.Download, JobID: "j1", Dataset: "reservations", Rows: 3}}
	wantNone(t, w.get(boss, "/audit"), "All reservations, no filter")
	w.events[0].Action = audit.Create
	wantAll(t, w.get(boss, "/audit"), 200, "All reservations, no filter")
}

func TestHistoryGoesOn(t *testing.T) {
	w := newWorld(t, nil)
	wantAll(t, w.get(boss, "/exports"), 200, "No exports here")
	for i := range 51 {
		w.jobs = append(w.jobs, job(fmt.Sprintf("j%02d", i), nil))
	}
	rec := w.get(boss, "/exports?all=true&status=succeeded")
	wantAll(t, rec, 200, `href="/exports?all=true&amp;before=j49&amp;status=succeeded" rel="next"`, `id="job-j49"`)
	wantNone(t, rec, `id="job-j50"`)
	w.jobs = w.jobs[:50]
	wantNone(t, w.get(boss, "/exports"), `rel="next"`)
}

func TestAudit(t *testing.T) {
	w := newWorld(t, nil)
	w.events = []audit.Event{{ID: "e1", At: now, Actor: "park", ActorName: hostile, Action: audit.Download, JobID: "j1", Dataset: "reservations", Columns: []string{"guest_name"}, Personal: true, Reason: "for the tax office", Rows: 12_345, Address: "192.0.2.7"}}
	rec := w.get(boss, "/audit?actor=park&action=export.download&job=j1&from=2026-11-01&to=2026-11-30")
	wantAll(t, rec, 200, "File downloaded", "&lt;script&gt;", "for the tax office", "12,345", "192.0.2.7", "1 Dec 2026 00:30", "personal data in the clear",
		`href="/api/v1/audit.csv?action=export.download&amp;actor=park&amp;from=2026-10-31T15%3A00%3A00Z&amp;job=j1&amp;to=2026-11-30T15%3A00%3A00Z"`)
	want := audit.Query{Actor: "park", Action: audit.Download, JobID: "j1", Limit: 101, From: time.Date(2026, 10, 31, 15, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, w.asked[0]); diff != "" {
		t.Error(diff)
	}
	if len(w.recorded) != 1 || w.recorded[0].Action != audit.Read {
		t.Errorf("recorded %+v", w.recorded)
	}
	wantAll(t, w.get(boss, "/audit?from=yesterday"), 400, "is a day as 2006-01-02")
	for i := range 101 {
		w.events = append(w.events, audit.Event{ID: fmt.Sprintf("f%03d", i), Action: audit.SignIn})
	}
	wantAll(t, w.get(boss, "/audit?actor=park"), 200, `href="/audit?actor=park&amp;before=f098" rel="next"`)
}

func TestWhoTookAReservationOut(t *testing.T) {
	w := newWorld(t, nil)
	wantAll(t, w.get(boss, "/audit?reservation=4711"), 200, "Nobody has taken this reservation out")
	w.takings = []audit.Taking{{JobID: "j1", By: "park", ByName: "Park", At: now, Rows: 12, DownloadCount: 3, Downloads: []audit.Event{{At: now, Actor: "park", Address: "192.0.2.7"}}}}
	wantAll(t, w.get(boss, "/audit?reservation=+4711"), 200, "Files that hold reservation 4711", "Park", "3 ×", "192.0.2.7", `href="/audit?job=j1"`)
	if w.askedID != 4711 {
		t.Errorf("asked for %d", w.askedID)
	}
	wantAll(t, w.get(boss, "/audit?reservation=x"), 400, "is the number of a reservation")
}

func TestWhatCannotBeRecordedDoesNotHappen(t *testing.T) {
	w := newWorld(t, nil)
	w.recordFail = true
	w.events = []audit.Event{{ID: "e1", Reason: "for the tax office"}}
	rec := w.get(boss, "/audit")
	wantAll(t, rec, 503, "cannot be reached just now")
	wantNone(t, rec, "for the tax office", "the disk is full")
	wantAll(t, w.get(with(), "/reservations"), 503)
	wantAll(t, newWorld(t, func(c *web.Config) { c.Events = nil }).get(boss, "/audit"), 404)
}
