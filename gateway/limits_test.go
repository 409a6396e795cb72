package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/gateway"
	"rowmill/internal/fault"
)

type gatewayConfig = gateway.Config

const preflightPath = exportsPath + "/preflight"

func TestPreflightSaysWhatAnOrderComesTo(t *testing.T) {
	w := newWorld(t, func(w *world, c *gatewayConfig) {
		w.reservations.total = 2 * sheet.MaxDataRows
		w.board.measured = []export.Measured{{Rows: 1000, Columns: 2, Bytes: 10_000, Took: time.Second}}
		c.Limits.MaxRows = 1000
	})
	rec := w.call("POST", preflightPath, `{"columns":["id","guest_name"],"personal":true}`)
	got := decode[gateway.Preflight](t, rec.Body)
	e := export.Rates{BytesPerCell: 5, RowsPerSecond: 1000}.Estimate(sheet.XLSX, 2*sheet.MaxDataRows, 2)
	want := gateway.Preflight{
		Rows: 2 * sheet.MaxDataRows, Sheets: 2, Bytes: e.Bytes, Seconds: e.Seconds,
		PersonalColumns: []string{"guest_name"}, ReasonRequired: true, MaxRows: 1000,
		Warnings: []gateway.Warning{
			{Code: "many-sheets", Message: "The rows take 2 sheets, as a sheet holds 1048575. A CSV file has them in one piece.", Suggest: "csv"},
			{Code: "too-many-rows", Message: "2097150 rows match and you may export at most 1000 at once: narrow the filter."},
		},
	}
	if d := cmp.Diff(want, got); d != "" || rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, d)
	}
	if len(w.jobs.all()) != 0 || len(w.queue.enqueued) != 0 {
		t.Error("a preflight made a job")
	}
}

func TestPreflightWarnings(t *testing.T) {
	for _, c := range []struct {
		name, body string
		change     func(*world)
		want       []string
		reason     bool
	}{
		{"all is well", `{}`, func(*world) {}, []string{}, false},
		{"masked", `{"columns":["guest_name"]}`, func(*world) {}, []string{}, false},
		{"no personal column", `{"columns":["id"],"personal":true}`, func(*world) {}, []string{}, false},
		{"many rows in one CSV", `{"format":"csv"}`, func(w *world) { w.reservations.total = 5_000_000 }, []string{}, false},
		{"no rows, no worker", `{}`, func(w *world) { w.reservations.total, w.board.workers = 0, export.Workers{} }, []string{"no-rows", "no-worker"}, false},
		{"a board that fails", `{}`, func(w *world) { w.board.err = errBroken }, []string{}, false},
	} {
		w := newWorld(t, func(w *world, _ *gatewayConfig) { c.change(w) })
		rec := w.call("POST", preflightPath, c.body)
		p := decode[gateway.Preflight](t, rec.Body)
		codes := []string{}
		for _, warning := range p.Warnings {
			codes = append(codes, warning.Code)
		}
		if d := cmp.Diff(c.want, codes); d != "" || rec.Code != 200 || p.ReasonRequired != c.reason || p.Bytes <= 0 || p.Seconds <= 0 {
			t.Errorf("%s: %d %+v %s", c.name, rec.Code, p, d)
		}
	}
	w := newWorld(t, func(w *world, _ *gatewayConfig) { w.reservations.err = errBroken })
	wantProblem(t, w.call("POST", preflightPath, `{}`), 500, "internal")
	wantProblem(t, w.call("POST", preflightPath, `{"columns":["nope"]}`), 400, "invalid")
}

func TestAnOrderOfTooManyRowsIsRefusedWithTheBoundAndTheCount(t *testing.T) {
	refused := map[string]int{}
	w := newWorld(t, func(w *world, c *gatewayConfig) {
		w.reservations.total, c.Limits.MaxRows = 1001, 1000
		c.Refused = func(reason string) { refused[reason]++ }
	})
	p := wantProblem(t, w.call("POST", exportsPath, `{}`), 400, "invalid")
	if diff := cmp.Diff(map[string]int{"max-rows": 1}, refused); diff != "" {
		t.Errorf("refused orders (-want +got):\n%s", diff)
	}
	if text := messages(p)["filter"]; !strings.Contains(text, "1001") || !strings.Contains(text, "1000 ") {
		t.Errorf("%q", text)
	}
	w.reservations.total = 1000
	if rec := w.call("POST", exportsPath, `{}`); rec.Code != 202 {
		t.Errorf("at the bound: %d", rec.Code)
	}
	w.reservations.err = errBroken
	wantProblem(t, w.call("POST", exportsPath, `{"format":"csv"}`), 503, "unavailable")
	if n := len(w.jobs.all()); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

func TestTooManyLiveJobsSayWhenToComeBack(t *testing.T) {
	running := jobIn(export.Running)
	running.StartedAt, running.RowsExpected, running.RowsWritten = today.Add(-10*time.Second), 2000, 1000
	grants := &fakeGrants{}
	w := newWorld(t, withGrants(grants, &fakeAudit{}, running))
	w.jobs.err = fault.New(fault.TooMany, "You have 5 exports waiting or running.")
	rec := w.call("POST", exportsPath, `{}`)
	p := wantProblem(t, rec, 429, "too-many-requests")
	if after := rec.Header().Get("Retry-After"); after != "11" || p.Detail != "You have 5 exports waiting or running." {
		t.Errorf("Retry-After %s, %s", after, p.Detail)
	}
}

func TestAFullServiceSaysSoAndWhenToComeBack(t *testing.T) {
	var refused []string
	w := newWorld(t, func(w *world, c *gatewayConfig) {
		w.board.measured = []export.Measured{{Rows: 1000, Columns: 1, Bytes: 1000, Took: time.Second}}
		c.Refused = func(reason string) { refused = append(refused, reason) }
	})
	for reason, c := range map[export.Reason]struct {
		rows  int64
		after string
	}{
		export.TooManyQueuedRows: {30_000, "31"},   // at 1,000 a second, and what every export costs
		export.TooManyQueuedJobs: {0, "5"},         // never at once
		"of some other day":      {1 << 40, "300"}, // past some minutes a guess is none
	} {
		w.jobs.err = fault.Wrap(&export.FullError{Reason: reason, Rows: c.rows}, fault.Full, "Ask again later.")
		rec := w.call("POST", exportsPath, `{}`)
		p := wantProblem(t, rec, 503, "queue-full")
		if after := rec.Header().Get("Retry-After"); after != c.after || p.Detail != "Ask again later." {
			t.Errorf("%s: Retry-After %s, %s", reason, after, p.Detail)
		}
		w.jobs.err = nil
		if len(refused) == 0 || refused[len(refused)-1] != string(reason) {
			t.Errorf("refused so far: %v, want %s last", refused, reason)
		}
	}
	refused = nil
	w.jobs.err = fault.New(fault.TooMany, "You have 5.")
	wantProblem(t, w.call("POST", exportsPath, `{}`), 429, "too-many-requests")
	w.jobs.err = errBroken
	wantProblem(t, w.call("POST", exportsPath, `{}`), 500, "internal")
	if diff := cmp.Diff([]string{"user-jobs"}, refused); diff != "" {
		t.Errorf("refused orders (-want +got):\n%s", diff)
	}
}

func TestACallerWhoCallsTooOftenIsToldWhenToComeBack(t *testing.T) {
	now := today
	w := newWorld(t, func(w *world, c *gatewayConfig) {
		withJobs(jobIn(export.Succeeded))(w, c)
		c.Now = func() time.Time { return now }
		c.Limits.RatePerSecond, c.Limits.Burst = 0.5, 3
	})
	for i, path := range []string{exportsPath, filePath, exportsPath + "/job-succeeded/events"} {
		if rec := w.call("GET", path, ""); rec.Code != 200 {
			t.Errorf("call %d: %d", i, rec.Code)
		}
	}
	rec := w.call("GET", exportsPath, "")
	wantProblem(t, rec, 429, "too-many-requests")
	if rec.Header().Get("Retry-After") != "2" {
		t.Errorf("Retry-After %s", rec.Header().Get("Retry-After"))
	}
	if rec := w.call("GET", "/livez", ""); rec.Code != 200 {
		t.Errorf("a probe: %d", rec.Code)
	}
	now = now.Add(2 * time.Second)
	if rec := w.call("GET", exportsPath, ""); rec.Code != 200 {
		t.Errorf("after the wait: %d", rec.Code)
	}
	wantProblem(t, w.call("GET", exportsPath, ""), 429, "too-many-requests")
}

func TestRatesAreEachCallersOwnAndBoundInMemory(t *testing.T) {
	now := today
	r := gateway.NewRates(gateway.Limits{RatePerSecond: 1, Burst: 1}, func() time.Time { return now }, 3)
	for i := range 10 {
		subject := fmt.Sprint(i)
		if err := r.Take(subject); err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
		if err := r.Take(subject); fault.KindOf(err) != fault.TooMany {
			t.Errorf("caller %d at once again: %v", i, err)
		}
		if n := r.Held(); n > 3 {
			t.Fatalf("%d buckets are held", n)
		}
	}
	now = now.Add(time.Second)
	if err := r.Take("new"); err != nil || r.Held() != 1 {
		t.Errorf("%v; %d buckets are held, though all others are full", err, r.Held())
	}
}

func TestACallerHasSoManyEventStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(w *world, c *gatewayConfig) {
			withWaiting(w, c)
			c.Limits.StreamsPerUser = 1
		})
		_, done := watch(t.Context(), w, "job-queued")
		synctest.Wait() // it is open
		rec := w.call("GET", exportsPath+"/job-queued/events", "")
		wantProblem(t, rec, 429, "too-many-requests")
		if rec.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		w.jobs.change("job-queued", func(j *export.Job) { j.Status = export.Canceled })
		<-done
		if rec := w.call("GET", exportsPath+"/job-queued/events", ""); rec.Code != 200 {
			t.Errorf("after it ended: %d", rec.Code)
		}
	})
}

// hangingJobs answers when its caller gives up.
type hangingJobs struct{ *fakeJobs }

func (hangingJobs) Get(ctx context.Context, _ string) (export.Job, error) {
	<-ctx.Done()
	return export.Job{}, fmt.Errorf("get: %w", ctx.Err())
}

func (hangingJobs) History(ctx context.Context, _ export.History) ([]export.Job, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangingJobs) Insert(ctx context.Context, _ export.Job, _ string) (export.Job, bool, error) {
	<-ctx.Done()
	return export.Job{}, false, ctx.Err()
}

func TestAJobTableThatHangsIs503AndNotAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *world, c *gatewayConfig) { c.Limits.TableTimeout = 5 * time.Second })
		cfg := w.cfg
		cfg.Jobs = hangingJobs{w.jobs}
		server, err := gateway.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.Server = server
		for _, c := range []struct{ method, path, body string }{
			{"GET", exportsPath + "/x", ""}, {"GET", exportsPath, ""}, {"POST", exportsPath, "{}"}, {"DELETE", exportsPath + "/x", ""}, {"GET", filePath, ""},
		} {
			start := time.Now()
			wantProblem(t, w.call(c.method, c.path, c.body), 503, "unavailable")
			if took := time.Since(start); took != 5*time.Second {
				t.Errorf("%s %s took %v", c.method, c.path, took)
			}
		}
	})
}

func TestAgainMakesANewJobOfTheSameRequest(t *testing.T) {
	for _, status := range []export.Status{export.Failed, export.Canceled, export.Expired, export.Succeeded} {
		t.Run(string(status), func(t *testing.T) {
			job := jobIn(status)
			job.Request.Order, job.Request.Filter, job.Request.Reason = "desc", map[string][]string{"status": {"Canceled", "No-Show"}}, "as asked"
			job.Request.Sort, job.Scope.Personal = "check_in", true
			w := newWorld(t, withJobs(job))
			rec := w.call("POST", exportsPath+"/"+job.ID+"/again", "")
			view := decode[gateway.JobView](t, rec.Body)
			if rec.Code != 202 || view.ID == job.ID || rec.Header().Get("Location") != exportsPath+"/"+view.ID {
				t.Fatalf("%d %s at %s", rec.Code, view.ID, rec.Header().Get("Location"))
			}
			made, err := w.jobs.Get(t.Context(), view.ID)
			if err != nil || made.Status != export.Queued || made.RowsExpected != 100 {
				t.Fatalf("%+v, %v", made, err)
			}
			if d := cmp.Diff(job.Request, made.Request); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(job.Scope, made.Scope); d != "" {
				t.Error(d)
			}
			twice := w.call("POST", exportsPath+"/"+job.ID+"/again", "")
			if twice.Header().Get("Location") != rec.Header().Get("Location") {
				t.Error("a double click made two jobs")
			}
		})
	}
}

func TestWhatCannotBeMadeAgain(t *testing.T) {
	others, old := jobIn(export.Succeeded), jobIn(export.Failed)
	others.ID, others.RequestedBy = "others", "someone"
	old.Request.Columns = []string{"gone"}
	w := newWorld(t, withJobs(jobIn(export.Running), jobIn(export.Queued), others, old))
	for id, want := range map[string]int{"job-running": 409, "job-queued": 409, "others": 404, "none": 404, "job-failed": 400} {
		kind := map[int]string{409: "conflict", 404: "not-found", 400: "invalid"}[want]
		wantProblem(t, w.call("POST", exportsPath+"/"+id+"/again", ""), want, kind)
	}
	if n := len(w.jobs.all()); n != 4 {
		t.Errorf("%d jobs", n)
	}
}

func TestALostPermissionEndsLiveJobsWhenTheCallerComes(t *testing.T) {
	g, a := &fakeGrants{}, &fakeAudit{}
	wide := jobIn(export.Queued)
	w := newWorld(t, withGrants(g, a, wide, jobIn(export.Running), jobIn(export.Succeeded)))
	call := func(p access.Principal) {
		t.Helper()
		if err := w.Seen(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	p := access.Principal{Subject: gateway.Subject, Permissions: access.Permissions()}
	call(p)
	p.Permissions = []access.Permission{access.ReadReservations}
	call(p)
	for id, want := range map[string]export.Status{"job-queued": export.Canceled, "job-running": export.Canceled, "job-succeeded": export.Succeeded} {
		job, err := w.jobs.Get(t.Context(), id)
		if err != nil || job.Status != want || want == export.Canceled && job.Failure.Code != "permission-lost" {
			t.Errorf("%s: %s %+v, %v", id, job.Status, job.Failure, err)
		}
	}
	if len(a.events) != 2 || a.events[0].Action != audit.Revoke {
		t.Errorf("events %+v", a.events)
	}
}

func TestAGrantThatCannotBeKeptStopsTheCall(t *testing.T) {
	g := &fakeGrants{err: errors.New("broken")}
	w := newWorld(t, withGrants(g, &fakeAudit{}))
	wantProblem(t, w.call("GET", exportsPath, ""), 503, "unavailable")
	g.err = nil
	if rec := w.call("GET", exportsPath, ""); rec.Code != 200 || len(g.rows) != 1 {
		t.Errorf("%d, %d grants", rec.Code, len(g.rows))
	}
}
