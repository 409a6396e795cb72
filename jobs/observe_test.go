package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// tally notes what it is told.
type tally struct {
	mu   sync.Mutex
	told []string
}

func (c *tally) ended(outcome, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, outcome+" "+code)
}

func (c *tally) did(action string, n int) { c.ended(action, fmt.Sprint(n)) }

func TestAnEndHasAWordAndACode(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		err      error
		failures int
		want     string
	}{
		"success":                     {nil, 0, "succeeded none"},
		"another attempt has the job": {fmt.Errorf("report: %w", export.ErrFenced), 0, "fenced none"},
		"the lease is lost":           {export.ErrLeaseLost, 0, "fenced lease-lost"},
		"the worker stops":            {errShutdown, 0, "handed-back none"},
		"a fault":                     {fault.New(fault.Unavailable, "Away."), 0, "retried unavailable"},
		"the last fault":              {fault.New(fault.Unavailable, "Away."), 4, "failed unavailable"},
		"a fault of ours":             {broken, 0, "retried internal"},
		"a request that cannot be":    {fault.New(fault.Invalid, "No such column."), 0, "failed invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			outcome, code := endOf(decide(c.err, c.failures, 5, time.Now()), c.err)
			if got := outcome + " " + code; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Of an attempt there is one span, in the trace of the order, with its end, and one count.
func TestAnAttemptIsCountedAndTraced(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	kept, counts := tracetest.NewSpanRecorder(), &tally{}
	tracer := telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample()))))
	stop := h.start(t, WorkerConfig{Runner: succeed(h), Tracer: tracer, Ended: counts.ended})
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Succeeded))
	stop()
	if diff := cmp.Diff([]string{"succeeded none"}, counts.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	spans := kept.Ended()
	if len(spans) != 1 || spans[0].Name() != "export attempt" || spans[0].Parent().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Fatalf("the spans are %v", spans)
	}
	said := map[string]string{}
	for _, a := range spans[0].Attributes() {
		said[string(a.Key)] = a.Value.String()
	}
	if said["rowmill.job_id"] != "a" || said["rowmill.attempt"] != "1" || said["rowmill.outcome"] != "succeeded" {
		t.Errorf("the span says %v", said)
	}
}

// A job whose owner may no longer have it has not succeeded.
func TestAJobThatIsNotPermittedIsCountedAsFenced(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	counts := &tally{}
	stop := h.start(t, WorkerConfig{Runner: succeed(h), Ended: counts.ended, Permissions: refusal{h.board}})
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Canceled))
	stop()
	if diff := cmp.Diff([]string{"fenced none"}, counts.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// refusal permits no job.
type refusal struct{ *board }

func (refusal) Permits(context.Context, export.Job) error {
	return fault.New(fault.Forbidden, "Not any more.")
}

func (r refusal) End(_ context.Context, j export.Job, _ error) error {
	return r.change(j.ID, func(*export.Job) bool { return true }, func(j *export.Job) { j.Status = export.Canceled })
}

// A sweep counts what it has done, and what was there already is not sent again.
func TestASweepCountsWhatItDid(t *testing.T) {
	now := time.Now()
	lost, worn, waiting, gone := job("lost", export.QueueSmall), job("worn", export.QueueSmall), job("waiting", export.QueueSmall), job("gone", export.QueueSmall)
	lost.Status, lost.Attempt, lost.LeaseUntil = export.Running, 1, now.Add(-time.Second)
	worn.Status, worn.Attempt, worn.Failures, worn.LeaseUntil = export.Running, 3, 2, now.Add(-time.Second)
	old := job("old", export.QueueSmall)
	old.Status, old.ExpiresAt, old.File = export.Succeeded, now.Add(-time.Second), &export.File{Key: "exports/old.1.xlsx"}
	h := newHouse(t, lost, worn, waiting, gone, old)
	h.enqueue(t, waiting)
	counts := &tally{}
	s := h.sweeper(&files{}, func() time.Time { return now })
	s.cfg.Did, s.cfg.Ended = counts.did, counts.ended
	sweep(t, s)
	slices.Sort(counts.told)
	want := []string{"expired 1", "failed worker-lost", "lost 1", "lost 1", "resent 1", "resent 1"} // gone, and lost itself
	if diff := cmp.Diff(want, counts.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAWorkerBeatsWhileItsLoopDoes(t *testing.T) {
	now := time.Now()
	w := NewWorker(WorkerConfig{Claims: newBoard(), Logger: discard(), Now: func() time.Time { return now }})
	beats := func(want bool, when string) {
		t.Helper()
		if err := w.Beats(t.Context()); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	beats(false, "before it runs")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.beat(ctx) // once
	beats(true, "when it has beaten")
	now = now.Add(export.WorkerLost)
	beats(true, "at the end of its time")
	now = now.Add(time.Second)
	beats(false, "when it has been silent")
}

// The log tells each attempt and what became of it, with the job, the attempt and the trace.
func TestTheLogTellsWhatBecomesOfAnAttempt(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	var lines bytes.Buffer
	var lock sync.Mutex
	stop := h.start(t, WorkerConfig{MaxFailures: 2, Logger: telemetry.NewLogger(locked{&lock, &lines}, "json", 0),
		Runner: runner(func(context.Context, export.Job) error { return fault.New(fault.Unavailable, "Away.") })})
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Failed))
	stop()
	var story []string
	for line := range strings.Lines(lines.String()) {
		var said struct {
			Msg, Outcome, Code string
			Attempt            int
			JobID              string `json:"job_id"`
			TraceID            string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		if said.JobID != "a" {
			continue
		}
		if said.TraceID != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("a line is of another trace: %s", line)
		}
		story = append(story, strings.TrimSpace(fmt.Sprint(said.Attempt, " ", said.Msg, " ", said.Outcome, said.Code)))
	}
	want := []string{"1 attempt started", "1 attempt goes back to the queue retried", "2 attempt started", "2 job failed unavailable"}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
