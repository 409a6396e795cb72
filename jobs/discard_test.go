package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
)

// discarder notes the jobs whose segments were discarded.
type discarder struct {
	mu   sync.Mutex
	jobs []string
	err  error
}

func (d *discarder) DiscardSegments(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = append(d.jobs, id)
	return d.err
}

func (d *discarder) discarded() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.jobs)
}

// Only the attempt that fails its job removes what it has kept.
func TestAFailedJobKeepsNothing(t *testing.T) {
	running := job("a", export.QueueLarge)
	running.Status, running.Attempt = export.Running, 2
	for name, fail := range map[string]func(*board, *discarder) error{
		"worker": func(b *board, d *discarder) error {
			return DiscardingAttempts(b, d, discard()).Fail(t.Context(), export.Fence{JobID: "a", Attempt: 2}, export.Failure{})
		},
		"sweeper": func(b *board, d *discarder) error {
			return DiscardingEnder(b, d, discard()).Fail(t.Context(), export.Fence{JobID: "a", Attempt: 2}, export.Failure{})
		},
	} {
		d := &discarder{err: errors.New("the store does not answer")} // it is left to the sweep of the files
		b := newBoard(running)
		if err := fail(b, d); err != nil || !cmp.Equal(d.discarded(), []string{"a"}) {
			t.Errorf("%s: %v, discarded %v", name, err, d.discarded())
		}
		if err := fail(b, d); !errors.Is(err, export.ErrFenced) || len(d.discarded()) != 1 {
			t.Errorf("%s, fenced: %v, discarded %v", name, err, d.discarded())
		}
	}
}

func TestAJobThatIsGivenUpKeepsNothing(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	d := &discarder{}
	w := NewWorker(WorkerConfig{RedisURL: h.url, Claims: h.board, Attempts: DiscardingAttempts(h.board, d, discard()), Queue: h.queue, ID: "w-1", Logger: discard(), MaxFailures: 2,
		Runner: runner(func(context.Context, export.Job) error {
			return fault.New(fault.Unavailable, "The API does not answer.")
		})})
	stop := runUntilStopped(t, w.Run)
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Failed))
	stop()
	if diff := cmp.Diff([]string{"a"}, d.discarded()); diff != "" { // not after the first attempt
		t.Errorf("discarded (-want +got):\n%s", diff)
	}
}

// What a job keeps stays while it may run again, whichever attempt has kept it.
func TestSegmentsOfEndedJobsAreSwept(t *testing.T) {
	var jobs []export.Job
	for _, s := range []export.Status{export.Queued, export.Running, export.Succeeded, export.Failed, export.Canceled, export.Expired} {
		j := job(string(s), export.QueueLarge)
		j.Status, j.Attempt, j.LeaseUntil, j.RunAt, j.ExpiresAt = s, 3, time.Now().Add(time.Hour), time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		jobs = append(jobs, j)
	}
	h := newHouse(t, jobs...)
	f := &files{keys: map[string]bool{}}
	for _, j := range append(jobs, job("nobody", export.QueueLarge)) {
		f.keys["chunks/"+j.ID+".1.snapshot"], f.keys["chunks/"+j.ID+".1.0"] = true, true
	}
	sweep(t, h.sweeper(f, time.Now))
	want := map[string]bool{"chunks/queued.1.snapshot": true, "chunks/queued.1.0": true, "chunks/running.1.snapshot": true, "chunks/running.1.0": true}
	if diff := cmp.Diff(want, f.keys); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
