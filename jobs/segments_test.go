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

// keeper notes the jobs whose segments were discarded.
type keeper struct {
	mu   sync.Mutex
	jobs []string
	err  error
}

func (k *keeper) DiscardSegments(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.jobs = append(k.jobs, id)
	return k.err
}

func (k *keeper) discarded() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.jobs)
}

// Only the attempt that fails its job removes what it has kept.
func TestAFailedJobKeepsNothing(t *testing.T) {
	running := job("a", export.QueueLarge)
	running.Status, running.Attempt = export.Running, 2
	for name, fail := range map[string]func(*board, *keeper) error{
		"worker": func(b *board, k *keeper) error {
			return EndAttempts(b, k, discard()).Fail(t.Context(), export.Fence{JobID: "a", Attempt: 2}, export.Failure{})
		},
		"sweeper": func(b *board, k *keeper) error {
			return EndJobs(b, k, discard()).Fail(t.Context(), export.Fence{JobID: "a", Attempt: 2}, export.Failure{})
		},
	} {
		k := &keeper{err: errors.New("the store does not answer")} // it is left to the sweep of the files
		b := newBoard(running)
		if err := fail(b, k); err != nil || !cmp.Equal(k.discarded(), []string{"a"}) {
			t.Errorf("%s: %v, discarded %v", name, err, k.discarded())
		}
		if err := fail(b, k); !errors.Is(err, export.ErrFenced) || len(k.discarded()) != 1 {
			t.Errorf("%s, fenced: %v, discarded %v", name, err, k.discarded())
		}
	}
}

func TestAJobThatIsGivenUpKeepsNothing(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	k := &keeper{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w := NewWorker(WorkerConfig{RedisURL: h.url, Claims: h.board, Attempts: EndAttempts(h.board, k, discard()), Queue: h.queue, ID: "w-1", Logger: discard(), MaxFailures: 2,
		Runner: runner(func(context.Context, export.Job) error {
			return fault.New(fault.Unavailable, "The API does not answer.")
		})})
	go func() { ended <- w.Run(ctx) }()
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Failed))
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, k.discarded()); diff != "" { // not after the first attempt
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
