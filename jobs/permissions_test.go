package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"

	"rowmill/export"
	"rowmill/internal/fault"
)

// permissions answer from a list, the last answer for good.
type permissions struct {
	board *board
	mu    sync.Mutex
	asks  []error // of Permits
	ends  []error // of End
}

func (p *permissions) next(answers *[]error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := (*answers)[0]
	if len(*answers) > 1 {
		*answers = (*answers)[1:]
	}
	return err
}

func (p *permissions) Permits(context.Context, export.Job) error { return p.next(&p.asks) }

func (p *permissions) End(_ context.Context, job export.Job, why error) error {
	if err := p.next(&p.ends); err != nil {
		return err
	}
	return p.board.change(job.ID, func(j *export.Job) bool { return !j.Status.Final() }, func(j *export.Job) {
		j.Status, j.Failure = export.Canceled, &export.Failure{Code: "permission-lost", Message: fault.Message(why)}
	})
}

func TestAJobRunsOnlyIfItsOwnerMayHaveIt(t *testing.T) {
	lost, broken := fault.New(fault.Forbidden, "This needs the permission exports:create."), errors.New("broken")
	for _, c := range []struct {
		name       string
		asks, ends []error
		want       export.Status
		failures   int
	}{
		{"permitted", []error{nil}, []error{broken}, export.Succeeded, 0},
		{"not permitted", []error{lost}, []error{nil}, export.Canceled, 0},
		{"not known, then permitted", []error{broken, nil}, []error{broken}, export.Succeeded, 1},
		{"not permitted, and not ended at once", []error{lost}, []error{broken, nil}, export.Canceled, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, job("a", export.QueueSmall))
			var mu sync.Mutex
			runs := 0
			h.start(t, WorkerConfig{Permissions: &permissions{board: h.board, asks: c.asks, ends: c.ends}, Runner: runner(func(ctx context.Context, j export.Job) error {
				mu.Lock()
				runs++
				mu.Unlock()
				return succeed(h)(ctx, j)
			})})
			h.enqueue(t, h.board.get("a"))
			got := h.board.await(t, "a", func(j export.Job) bool { return j.Status.Final() })
			mu.Lock()
			defer mu.Unlock()
			if got.Status != c.want || got.Failures != c.failures || (runs == 1) != (c.want == export.Succeeded) {
				t.Errorf("the job is %s after %d failures and %d runs", got.Status, got.Failures, runs)
			}
			if c.want == export.Canceled && got.Failure.Code != "permission-lost" {
				t.Errorf("failure %+v", got.Failure)
			}
		})
	}
}
