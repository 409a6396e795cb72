package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/gateway"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

const exportsPath = "/api/v1/exports"

func TestAnOrderBecomesAJob(t *testing.T) {
	w := newWorld(t, func(w *world, c *gateway.Config) {
		c.BaseURL = "https://rowmill.example"
		w.board.ahead = 3
	})
	rec := w.call("POST", exportsPath, `{"dataset":"reservations","format":"csv","filter":{"status":["Canceled","No-Show"],"check_in_gte":"2026-11-01"},
		"sort":"check_in","order":"DESC","columns":["code","guest_name"],"language":"ko","time_zone":"Asia/Seoul","file_name":"취소.csv"}`)
	view := decode[gateway.JobView](t, rec.Body)
	self := "https://rowmill.example/api/v1/exports/" + view.ID
	if rec.Code != 202 || rec.Header().Get("Location") != self || rec.Header().Get("Retry-After") != "1" {
		t.Errorf("%d, Location %q, Retry-After %q", rec.Code, rec.Header().Get("Location"), rec.Header().Get("Retry-After"))
	}
	request := export.Request{
		Dataset: "reservations", Format: sheet.CSV, Sort: "check_in", Order: "desc",
		Filter:  map[string][]string{"status": {"Canceled", "No-Show"}, "check_in_gte": {"2026-11-01"}},
		Columns: []string{"code", "guest_name"}, Language: "ko", TimeZone: "Asia/Seoul", FileName: "취소.csv",
	}
	want := gateway.JobView{
		ID: view.ID, Status: export.Queued, RowsExpected: 100, Queue: export.QueueSmall, Place: 4,
		RequestedBy: "developer", Request: request, CreatedAt: today, Links: gateway.Links{Self: self, Events: self + "/events", Cancel: self},
	}
	if d := cmp.Diff(want, view); d != "" {
		t.Error(d)
	}
	stored, err := w.jobs.Get(t.Context(), view.ID)
	if err != nil {
		t.Fatal(err)
	}
	if stored.RequestedBy != "developer" || !stored.RunAt.Equal(today) || cmp.Diff(request, stored.Request) != "" {
		t.Errorf("stored job %+v", stored)
	}
	if d := cmp.Diff([]string{view.ID}, w.queue.enqueued); d != "" {
		t.Errorf("enqueued: %s", d)
	}
}

func TestAnEmptyOrderTakesTheDefaultsForGood(t *testing.T) {
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.DefaultLanguage, c.DefaultTimeZone = "ko", "Asia/Seoul" })
	view := decode[gateway.JobView](t, w.call("POST", exportsPath, `{}`).Body)
	want := export.Request{
		Dataset: "reservations", Format: "xlsx", Order: "asc", Columns: reservation.DefaultFields(),
		Language: "ko", TimeZone: "Asia/Seoul", FileName: "예약목록_2026-12-01.xlsx",
	}
	if d := cmp.Diff(want, view.Request); d != "" {
		t.Error(d)
	}
}

func TestEverythingWrongInAnOrderIsNamedAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	rec := w.call("POST", exportsPath, `{"format":"pdf","language":"fr","order":"up","colour":"red","time_zone":"Mars/Olympus","sort":"memo",
		"columns":["code","nope","code"],"filter":{"nope":"x","nights_gte":"many","status":[],"company":5}}`)
	got := messages(wantProblem(t, rec, 400, "invalid"))
	for _, at := range []string{
		"body.format", "body.language", "body.order", "body.colour", "body.time_zone", "body.sort",
		"body.columns[1]", "body.columns[2]", "body.filter.nope", "body.filter.nights_gte", "body.filter.status", "body.filter.company",
	} {
		if got[at] == "" {
			t.Errorf("%s is not named", at)
		}
	}
	if got["body.filter.status"] != "takes a text or a list of at least one text" {
		t.Errorf("an empty list of values: %q", got["body.filter.status"])
	}
	if t.Failed() {
		t.Log(got)
	}
	if n := len(w.jobs.all()); n != 0 {
		t.Errorf("%d jobs were made", n)
	}
}

func TestWrongOrders(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct{ name, body, at string }{
		{"dataset", `{"dataset":"secrets"}`, "body.dataset"},
		{"the machine's own zone", `{"time_zone":"Local"}`, "body.time_zone"},
		{"a zone by its path", `{"time_zone":"../../etc/passwd"}`, "body.time_zone"},
		{"no columns", `{"columns":[]}`, "body.columns"},
		{"a filter by null, which would be no filter", `{"filter":{"status":null}}`, "body.filter.status"},
		{"a filter by a list of null", `{"filter":{"status":[null]}}`, "body.filter.status"},
		{"a number for a text", `{"file_name":1}`, "body.file_name"},
		{"a list for a body", `[]`, "body"},
		{"a key with a space", `{}`, "header.Idempotency-Key"},
		{"a long key", `{}`, "header.Idempotency-Key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := map[string]string{"a key with a space": "a b", "a long key": strings.Repeat("k", 201)}[c.name]
			p := wantProblem(t, w.call("POST", exportsPath, c.body, "Idempotency-Key", key), 400, "invalid")
			if messages(p)[c.at] == "" {
				t.Errorf("%s is not named: %+v", c.at, p.Errors)
			}
		})
	}
}

func TestTheCountChoosesTheQueue(t *testing.T) {
	for _, c := range []struct {
		rows  int64
		err   error
		queue export.Queue
		want  int64
	}{
		{20_000, nil, export.QueueSmall, 20_000},
		{20_001, nil, export.QueueLarge, 20_001},
		{5, errBroken, export.QueueLarge, 0},
		{5, fault.New(fault.Overloaded, "Busy."), export.QueueLarge, 0},
	} {
		w := newWorld(t, func(w *world, _ *gateway.Config) { w.reservations.total, w.reservations.err = c.rows, c.err })
		rec := w.call("POST", exportsPath, `{}`)
		view := decode[gateway.JobView](t, rec.Body)
		if rec.Code != 202 || view.Queue != c.queue || view.RowsExpected != c.want {
			t.Errorf("%d rows (%v): %d, queue %s, %d expected", c.rows, c.err, rec.Code, view.Queue, view.RowsExpected)
		}
	}
}

func TestADoubleClickMakesOneJob(t *testing.T) {
	w := newWorld(t, nil)
	const clicks = 16
	locations := make([]string, clicks)
	var wg sync.WaitGroup
	for i := range clicks {
		wg.Go(func() {
			rec := w.call("POST", exportsPath, `{"filter":{"status":"Canceled"}}`)
			if rec.Code != http.StatusAccepted {
				t.Errorf("click %d: %d", i, rec.Code)
			}
			locations[i] = rec.Header().Get("Location")
		})
	}
	wg.Wait()
	for _, l := range locations {
		if l == "" || l != locations[0] {
			t.Errorf("locations differ: %q and %q", locations[0], l)
		}
	}
	if jobs, queued := len(w.jobs.all()), len(w.queue.enqueued); jobs != 1 || queued != 1 {
		t.Errorf("%d jobs, %d enqueued", jobs, queued)
	}
	if w.call("POST", exportsPath, `{"filter":{"status":"No-Show"}}`); len(w.jobs.all()) != 2 {
		t.Error("another order did not make another job")
	}
}

func TestIdempotencyKey(t *testing.T) {
	w := newWorld(t, nil)
	first := w.call("POST", exportsPath, `{}`, "Idempotency-Key", "k1").Header().Get("Location")
	w.jobs.change(first[len(exportsPath)+1:], func(j *export.Job) { j.Status = export.Succeeded })
	again := w.call("POST", exportsPath, `{}`, "Idempotency-Key", "k1")
	if got := again.Header().Get("Location"); got != first || again.Code != 202 {
		t.Errorf("the same key gave %d %s, first was %s", again.Code, got, first)
	}
	if again.Header().Get("Retry-After") != "" {
		t.Error("a job that has ended asks to be asked again")
	}
	wantProblem(t, w.call("POST", exportsPath, `{"format":"csv"}`, "Idempotency-Key", "k1"), 409, "conflict")
	if got := w.call("POST", exportsPath, `{}`, "Idempotency-Key", "k2").Header().Get("Location"); got == first {
		t.Error("another key gave the job that has ended")
	}
}

// The default name of the file has the day in it, the order has not.
func TestAnOrderIsTheSameOnAnotherDay(t *testing.T) {
	now := today
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.Now = func() time.Time { return now } })
	first := w.call("POST", exportsPath, `{}`, "Idempotency-Key", "k1")
	now = now.AddDate(0, 0, 1)
	for _, key := range []string{"k1", ""} {
		again := w.call("POST", exportsPath, `{}`, "Idempotency-Key", key)
		if got, want := again.Header().Get("Location"), first.Header().Get("Location"); got != want || got == "" {
			t.Errorf("key %q: the next day gave %d %q, the first one %q", key, again.Code, got, want)
		}
		if name := decode[gateway.JobView](t, again.Body).Request.FileName; name != "reservations_2026-11-30.xlsx" {
			t.Errorf("key %q: the file is named %s", key, name)
		}
	}
}

func TestAQueueThatFailsDoesNotLoseTheJob(t *testing.T) {
	w := newWorld(t, func(w *world, _ *gateway.Config) { w.queue.err = errBroken })
	rec := w.call("POST", exportsPath, `{}`)
	if rec.Code != 202 || len(w.jobs.all()) != 1 {
		t.Errorf("%d with %d jobs", rec.Code, len(w.jobs.all()))
	}
	if !strings.Contains(w.log.String(), "job not enqueued") {
		t.Error("the failure is not in the log")
	}
}

func TestAJobTableThatFailsTakesNoOrder(t *testing.T) {
	w := newWorld(t, func(w *world, _ *gateway.Config) { w.jobs.err = errBroken })
	wantProblem(t, w.call("POST", exportsPath, `{}`), 500, "internal")
	wantProblem(t, w.call("GET", exportsPath+"/x", ""), 500, "internal")
	if len(w.queue.enqueued) != 0 {
		t.Error("a job that is not stored was enqueued")
	}
}

func TestAWaitingJobSaysThatNoWorkerIsAlive(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers export.Workers
		want    *gateway.Notice
	}{
		{"alive", export.Workers{Alive: 1, LastSeen: today}, nil},
		{"gone", export.Workers{LastSeen: today.Add(-150 * time.Second)}, &gateway.Notice{
			Code: "no-worker", Since: today.Add(-150 * time.Second),
			Message: "No worker is running; the last one was seen 2 minutes ago. The export starts as soon as one runs.",
		}},
		{"just gone", export.Workers{LastSeen: today.Add(-16 * time.Second)}, &gateway.Notice{
			Code: "no-worker", Since: today.Add(-16 * time.Second),
			Message: "No worker is running; the last one was seen less than a minute ago. The export starts as soon as one runs.",
		}},
		{"never there", export.Workers{}, &gateway.Notice{
			Code: "no-worker", Since: today.Add(-time.Hour),
			Message: "No worker has run since this export was asked for, 1 hour ago. The export starts as soon as one runs.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, withJobs(jobIn(export.Queued), jobIn(export.Running)))
			w.board.workers = c.workers
			view := decode[gateway.JobView](t, w.call("GET", exportsPath+"/job-queued", "").Body)
			if d := cmp.Diff(c.want, view.Notice); d != "" {
				t.Error(d)
			}
			running := decode[gateway.JobView](t, w.call("GET", exportsPath+"/job-running", "").Body)
			if running.Notice != nil || running.Place != 0 {
				t.Error("a running job has a place or a notice")
			}
		})
	}
}

func TestABoardThatFailsHidesNoJob(t *testing.T) {
	w := newWorld(t, withJobs(jobIn(export.Queued)))
	w.board.err = errBroken
	rec := w.call("GET", exportsPath+"/job-queued", "")
	if view := decode[gateway.JobView](t, rec.Body); rec.Code != 200 || view.Place != 0 || view.Notice != nil {
		t.Errorf("%d, %+v", rec.Code, view)
	}
}

func TestViewsByStatus(t *testing.T) {
	for _, c := range []struct {
		status     export.Status
		retryAfter string
		links      gateway.Links
		failure    string
	}{
		{export.Queued, "1", gateway.Links{Events: "/events", Cancel: ""}, ""},
		{export.Running, "1", gateway.Links{Events: "/events", Cancel: ""}, ""},
		{export.Succeeded, "", gateway.Links{File: "/file"}, ""},
		{export.Failed, "", gateway.Links{}, "source-unavailable"},
		{export.Canceled, "", gateway.Links{}, ""},
		{export.Expired, "", gateway.Links{}, ""},
	} {
		t.Run(string(c.status), func(t *testing.T) {
			job := jobIn(c.status)
			rec := newWorld(t, withJobs(job)).call("GET", exportsPath+"/"+job.ID, "")
			view := decode[gateway.JobView](t, rec.Body)
			self := exportsPath + "/" + job.ID
			want := gateway.Links{Self: self}
			if c.links.Events != "" {
				want.Events, want.Cancel = self+"/events", self
			}
			if c.links.File != "" {
				want.File = self + "/file"
			}
			if d := cmp.Diff(want, view.Links); d != "" || rec.Header().Get("Retry-After") != c.retryAfter {
				t.Errorf("Retry-After %q, links %s", rec.Header().Get("Retry-After"), d)
			}
			if (view.Failure != nil) != (c.failure != "") || c.failure != "" && view.Failure.Code != c.failure {
				t.Errorf("failure %+v", view.Failure)
			}
			if (view.Receipt != nil) != (job.Receipt != nil) {
				t.Errorf("receipt %+v", view.Receipt)
			}
		})
	}
}
