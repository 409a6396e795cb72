package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"rowmill/export"
	"rowmill/internal/config"
	"rowmill/jobs"
	"rowmill/repository"
)

// crowd is many users' jobs on a real MariaDB and Redis.
type crowd struct {
	app    *app
	waits  map[string][]time.Duration // by user, from when the workers started
	runs   map[string]int             // by job
	mu     sync.Mutex
	began  time.Time
	all    int
	ended  chan struct{} // closed when all have
	finish func(ctx context.Context, j export.Job) error
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	a, _ := boot(t, 0, noWorker)
	c := &crowd{app: a, waits: map[string][]time.Duration{}, runs: map[string]int{}, ended: make(chan struct{})}
	c.finish = func(ctx context.Context, j export.Job) error {
		now := time.Now()
		return a.jobs.Succeed(ctx, export.Fence{JobID: j.ID, Attempt: j.Attempt}, export.File{Key: export.FileKey(j)}, export.Receipt{}, now, now.Add(time.Hour))
	}
	return c
}

// order stores and sends the jobs of one user, some at once, as an order of the gateway does.
func (c *crowd) order(ctx context.Context, table *repository.Jobs, user string, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range n {
		group.Go(func() error {
			now := time.Now()
			job := export.Job{
				ID: fmt.Sprintf("%s-%02d", user, i), RequestedBy: user, Queue: export.QueueSmall, Status: export.Queued, RowsExpected: 10,
				Request:   export.Request{Dataset: "reservations", Format: "csv", Columns: []string{"id"}, FileName: fmt.Sprint(i)},
				CreatedAt: now, RunAt: now,
			}
			stored, created, err := table.Insert(ctx, job, "")
			if err != nil || !created {
				return fmt.Errorf("insert %s: created %v, %w", job.ID, created, err)
			}
			return c.app.queue.Enqueue(ctx, stored)
		})
	}
	return group.Wait()
}

func (*crowd) Lease() time.Duration { return time.Minute }

// Run notes when the job began, and does nothing besides.
func (c *crowd) Run(ctx context.Context, j export.Job) error {
	if err := c.finish(ctx, j); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[j.ID]++
	c.waits[j.RequestedBy] = append(c.waits[j.RequestedBy], j.StartedAt.Sub(c.began))
	if len(c.runs) == c.all {
		select {
		case <-c.ended:
		default:
			close(c.ended)
		}
	}
	return nil
}

// work runs the workers until all jobs have ended.
func (c *crowd) work(t *testing.T, workers int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.began = time.Now()
	var group errgroup.Group
	for i := range workers {
		w := jobs.NewWorker(jobs.WorkerConfig{
			RedisURL: c.app.redisURL, Claims: c.app.jobs, Attempts: c.app.jobs, Runner: c, Queue: c.app.queue,
			Logger: slog.New(slog.DiscardHandler), ID: fmt.Sprintf("w%d", i),
		})
		group.Go(func() error { return w.Run(ctx) })
	}
	select {
	case <-c.ended:
	case <-time.After(3 * time.Minute):
		t.Errorf("%d of %d jobs have run", len(c.runs), c.all)
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// ratio is the slowest user's mean wait by the fastest's.
func (c *crowd) ratio() float64 {
	var slowest, fastest time.Duration
	for _, waits := range c.waits {
		var sum time.Duration
		for _, w := range waits {
			sum += w
		}
		mean := sum / time.Duration(len(waits))
		slowest = max(slowest, mean)
		if fastest == 0 || mean < fastest {
			fastest = mean
		}
	}
	return float64(slowest) / float64(fastest)
}

// Ten thousand small jobs, ordered one user after the other, all of them before the
// first is run: in the order of the orders, the last user would wait hundreds of times
// as long as the first.
func TestTenThousandJobsOfTwoHundredUsersAreServedInTurns(t *testing.T) {
	const users, each = 200, 50
	c := newCrowd(t)
	c.all = users * each
	table := c.app.jobs.Limited(each).Bounded(boundsOf(c.app.cfg))
	start := time.Now()
	for u := range users {
		if err := c.order(t.Context(), table, fmt.Sprintf("user%03d", u), each); err != nil {
			t.Fatal(err)
		}
	}
	ordered := time.Since(start)
	c.work(t, 2)
	worked := time.Since(c.began)
	for id, n := range c.runs {
		if n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	if n := count(t, c.app, "SELECT COUNT(*) FROM export_jobs WHERE status = 'succeeded' AND attempt = 1"); n != int64(c.all) || len(c.runs) != c.all {
		t.Errorf("%d of %d jobs ran and %d have succeeded", len(c.runs), c.all, n)
	}
	if ratio := c.ratio(); ratio > 2 {
		t.Errorf("the slowest user waited %.2f times as long as the fastest", ratio)
	}
	t.Logf("ordered in %v, run in %v, ratio %.3f", ordered, worked, c.ratio())
	_ = config.Worker
}
