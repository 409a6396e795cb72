package jobs

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

// board is a job table in memory with the compare-and-sets of the real one.
type board struct {
	mu      sync.Mutex
	jobs    map[string]*export.Job
	beats   int
	changed chan struct{} // closed and renewed at each change
}

func newBoard(jobs ...export.Job) *board {
	b := &board{jobs: map[string]*export.Job{}, changed: make(chan struct{})}
	for _, j := range jobs {
		b.jobs[j.ID] = &j
	}
	return b
}

// write changes a job if it still runs under the fence.
func (b *board) write(f export.Fence, change func(*export.Job)) error {
	return b.change(f.JobID, func(j *export.Job) bool { return j.Status == export.Running && j.Attempt == f.Attempt }, change)
}

func (b *board) change(id string, when func(*export.Job) bool, change func(*export.Job)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	j, ok := b.jobs[id]
	if !ok || !when(j) {
		return export.ErrFenced
	}
	change(j)
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

func (b *board) Claim(_ context.Context, f export.Fence, _ string, _, lease time.Time) (export.Job, error) {
	err := b.change(f.JobID, func(j *export.Job) bool {
		return j.Status == export.Queued && j.Attempt == f.Attempt-1
	}, func(j *export.Job) { j.Status, j.Attempt, j.LeaseUntil = export.Running, f.Attempt, lease })
	if err != nil {
		return export.Job{}, err
	}
	return b.get(f.JobID), nil
}

func (b *board) ClaimNext(ctx context.Context, q export.Queue, worker string, at, lease time.Time) (export.Job, error) {
	due := b.all(func(j export.Job) bool { return j.Queue == q && j.Status == export.Queued && !j.RunAt.After(at) })
	slices.SortStableFunc(due, func(a, b export.Job) int { return cmp.Compare(a.Turn, b.Turn) })
	for _, j := range due {
		if got, err := b.Claim(ctx, export.Fence{JobID: j.ID, Attempt: j.Attempt + 1}, worker, at, lease); err == nil {
			return got, nil
		}
	}
	return export.Job{}, export.ErrNothingDue
}

func (b *board) Beat(context.Context, string, time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beats++
	return nil
}

func (b *board) Report(_ context.Context, f export.Fence, p export.Progress, lease time.Time) error {
	return b.write(f, func(j *export.Job) { j.Phase, j.RowsWritten, j.LeaseUntil = p.Phase, p.Written, lease })
}

func (b *board) Succeed(_ context.Context, f export.Fence, file export.File, r export.Receipt, at, expires time.Time) error {
	return b.write(f, func(j *export.Job) {
		j.Status, j.File, j.Receipt, j.FinishedAt, j.ExpiresAt = export.Succeeded, &file, &r, at, expires
	})
}

func (b *board) Fail(_ context.Context, f export.Fence, why export.Failure) error {
	return b.write(f, func(j *export.Job) { j.Status, j.Failure = export.Failed, &why })
}

func (b *board) Release(_ context.Context, f export.Fence, runAt time.Time, why *export.Failure) error {
	return b.write(f, func(j *export.Job) {
		j.Status, j.RunAt = export.Queued, runAt
		if why != nil {
			j.Failure, j.Failures = why, j.Failures+1
		}
	})
}

func (b *board) Get(_ context.Context, id string) (export.Job, error) {
	if j := b.get(id); j.ID == id {
		return j, nil
	}
	return export.Job{}, fault.New(fault.NotFound, "There is no job %s.", id)
}

// get gives the job, or an empty one if there is none.
func (b *board) get(id string) export.Job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j, ok := b.jobs[id]; ok {
		return *j
	}
	return export.Job{}
}

func (b *board) Due(_ context.Context, at time.Time, after export.Job, limit int) ([]export.Job, error) {
	due := b.all(func(j export.Job) bool { return j.Status == export.Queued && !j.RunAt.After(at) && j.ID > after.ID })
	return due[:min(limit, len(due))], nil
}

func (b *board) Unfinished(context.Context) (map[export.Queue]int, error) {
	n := map[export.Queue]int{}
	for _, j := range b.all(func(j export.Job) bool { return !j.Status.Final() }) {
		n[j.Queue]++
	}
	return n, nil
}

func (b *board) Lost(_ context.Context, at time.Time, _ int) ([]export.Job, error) {
	return b.all(func(j export.Job) bool { return j.Status == export.Running && j.LeaseUntil.Before(at) }), nil
}

func (b *board) Expirable(_ context.Context, at time.Time, _ int) ([]export.Job, error) {
	return b.all(func(j export.Job) bool { return j.Status == export.Succeeded && j.ExpiresAt.Before(at) }), nil
}

func (b *board) Expire(_ context.Context, id string, _ time.Time) error {
	return b.change(id, func(j *export.Job) bool { return j.Status == export.Succeeded }, func(j *export.Job) { j.Status = export.Expired })
}

func (b *board) all(keep func(export.Job) bool) (jobs []export.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if keep(*j) {
			jobs = append(jobs, *j)
		}
	}
	slices.SortFunc(jobs, func(a, b export.Job) int { return strings.Compare(a.ID, b.ID) })
	return jobs
}

// await waits until the job is as asked.
func (b *board) await(t *testing.T, id string, is func(export.Job) bool) export.Job {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		j, changed := *b.jobs[id], b.changed
		b.mu.Unlock()
		if is(j) {
			return j
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("job %s stays %s at attempt %d after %d failures", id, j.Status, j.Attempt, j.Failures)
		}
	}
}

func status(s export.Status) func(export.Job) bool {
	return func(j export.Job) bool { return j.Status == s }
}

// runner runs jobs by a function.
type runner func(ctx context.Context, j export.Job) error

func (r runner) Run(ctx context.Context, j export.Job) error { return r(ctx, j) }
func (runner) Lease() time.Duration                          { return time.Minute }

// files is a file store that only remembers keys.
type files struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (f *files) Delete(_ context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
	return nil
}

func (f *files) Sweep(_ context.Context, _ time.Time, keep func(string) bool) (removed int, err error) {
	for key := range f.keys {
		if !keep(key) {
			delete(f.keys, key)
			removed++
		}
	}
	return removed, nil
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func job(id string, q export.Queue) export.Job {
	return export.Job{ID: id, Queue: q, Status: export.Queued, CreatedAt: time.Now(), Request: export.Request{Format: "xlsx"},
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
