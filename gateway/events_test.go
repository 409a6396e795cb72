package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/gateway"
)

// watch opens an event stream inside a synctest bubble; done is closed when it has ended.
func watch(ctx context.Context, w *world, id string) (rec *httptest.ResponseRecorder, done chan struct{}) {
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/exports/"+id+"/events", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	rec, done = httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		w.ServeHTTP(rec, r)
	}()
	return rec, done
}

// withWaiting has a queued job and polls by the bubble's seconds.
func withWaiting(w *world, c *gateway.Config) {
	withJobs(jobIn(export.Queued))(w, c)
	c.PollInterval = time.Second
}

// states gives status and percent of each event.
func states(t *testing.T, body string) (got []string) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		data, isJob := strings.CutPrefix(block, "event: job\ndata: ")
		if !isJob {
			got = append(got, block)
			continue
		}
		var v gateway.JobView
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("event %q: %v", data, err)
		}
		got = append(got, fmt.Sprintf("%s %d", v.Status, v.Percent))
	}
	return got
}

func TestEventsTellEveryChangeOnceAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withWaiting)
		rec, done := watch(t.Context(), w, "job-queued")
		time.Sleep(3500 * time.Millisecond) // three polls without news
		w.jobs.change("job-queued", func(j *export.Job) { j.Status, j.Attempt, j.RowsWritten = export.Running, 1, 340 })
		time.Sleep(time.Second)
		w.jobs.change("job-queued", func(j *export.Job) { j.RowsWritten = 1000 })
		time.Sleep(time.Second)
		w.jobs.change("job-queued", func(j *export.Job) { j.Status = export.Succeeded })
		<-done
		want := []string{"queued 0", "running 34", "running 99", "succeeded 100"}
		if d := cmp.Diff(want, states(t, rec.Body.String())); d != "" {
			t.Error(d)
		}
		got := []string{rec.Header().Get("Content-Type"), rec.Header().Get("Cache-Control"), rec.Header().Get("X-Accel-Buffering")}
		if d := cmp.Diff([]string{"text/event-stream", "no-store", "no"}, got); d != "" || !rec.Flushed {
			t.Error(d)
		}
	})
}

func TestEventsOfAnEndedJobAreItsStateAlone(t *testing.T) {
	rec := newWorld(t, withJobs(jobIn(export.Failed))).call("GET", "/api/v1/exports/job-failed/events", "")
	if d := cmp.Diff([]string{"failed 0"}, states(t, rec.Body.String())); d != "" {
		t.Error(d)
	}
}

func TestEventsKeepTheConnectionWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		w := newWorld(t, withWaiting)
		rec, done := watch(ctx, w, "job-queued")
		time.Sleep(31 * time.Second)
		leave()
		<-done // a client that goes ends its stream
		if d := cmp.Diff([]string{"queued 0", ": still here", ": still here"}, states(t, rec.Body.String())); d != "" {
			t.Error(d)
		}
		if strings.Contains(w.log.String(), "broken off") {
			t.Error("a client that goes is taken for a fault")
		}
	})
}

func TestEventStreamsAreBoundedAndDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(w *world, c *gateway.Config) {
			withWaiting(w, c)
			c.MaxStreams = 1
		})
		rec, done := watch(t.Context(), w, "job-queued")
		synctest.Wait()
		refused := w.call("GET", "/api/v1/exports/job-queued/events", "")
		wantProblem(t, refused, 503, "overloaded")
		if refused.Header().Get("Retry-After") == "" {
			t.Error("a refused stream is not told when to come back")
		}
		w.Drain()
		<-done
		if !strings.HasSuffix(rec.Body.String(), ": the server is shutting down\n\n") {
			t.Errorf("stream ended with %q", rec.Body)
		}
		wantProblem(t, w.call("GET", "/api/v1/exports/job-queued/events", ""), 503, "unavailable")
	})
}

func TestAStreamGivesItsSlotBack(t *testing.T) {
	w := newWorld(t, func(w *world, c *gateway.Config) {
		withJobs(jobIn(export.Failed))(w, c)
		c.MaxStreams = 1
	})
	for range 3 {
		if rec := w.call("GET", "/api/v1/exports/job-failed/events", ""); rec.Code != 200 {
			t.Fatalf("%d: the slot of an ended stream is still taken", rec.Code)
		}
	}
}

func TestEventsEndWhenTheJobCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withWaiting)
		_, done := watch(t.Context(), w, "job-queued")
		synctest.Wait()
		w.jobs.mu.Lock()
		w.jobs.err = errBroken
		w.jobs.mu.Unlock()
		<-done
		if !strings.Contains(w.log.String(), "event stream broken off") {
			t.Error("the failure is not in the log")
		}
	})
}

func TestEventsOfNoJob(t *testing.T) {
	wantProblem(t, newWorld(t, nil).call("GET", "/api/v1/exports/none/events", ""), 404, "not-found")
}

// The server's deadlines must not cut a stream, nor a shutdown wait for it.
func TestEventsOverTheNetwork(t *testing.T) {
	w := newWorld(t, withJobs(jobIn(export.Queued)))
	server := httptest.NewUnstartedServer(w)
	server.Config = w.HTTPServer("")
	server.Config.WriteTimeout, server.Config.ReadTimeout = 20*time.Millisecond, 20*time.Millisecond
	server.Start()
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/exports/job-queued/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("stream ended: %v", lines.Err())
		return ""
	}
	next()
	for written := range int64(50) { // each step waits for its event: longer than the deadline in all
		w.jobs.change("job-queued", func(j *export.Job) { j.Status, j.RowsWritten = export.Running, written })
		next()
	}
	if err := server.Config.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown did not end: %v", err)
	}
}
