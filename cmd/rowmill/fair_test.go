package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"rowmill/export"
	"rowmill/internal/config"
	"rowmill/internal/testoidc"
	"rowmill/jobs"
	"rowmill/repository"
)

// crowd is many users' jobs on a real MariaDB and Redis, and a runner that does no
// more than to end them.
type crowd struct {
	app   *app
	table *repository.Jobs // as the gateway has it
	all   int              // jobs to be run

	mu     sync.Mutex
	runs   map[string]int         // by job
	starts map[string][]time.Time // by user
	ended  chan struct{}          // closed when all have
}

func newCrowd(t *testing.T, all int) *crowd {
	t.Helper()
	a, _ := boot(t, 0, noWorker)
	return &crowd{
		app: a, table: a.jobs.Limited(1000).Bounded(boundsOf(a.cfg)), all: all,
		runs: map[string]int{}, starts: map[string][]time.Time{}, ended: make(chan struct{}),
	}
}

// place stores and sends the jobs of a user as the gateway does, one after the other.
func (c *crowd) place(ctx context.Context, user string, n int) error {
	for i := range n {
		now := time.Now().UTC().Truncate(time.Microsecond)
		job := export.Job{
			ID: fmt.Sprintf("%s-%02d", user, i), RequestedBy: user, Queue: export.QueueSmall, Status: export.Queued, RowsExpected: 10,
			Request:   export.Request{Dataset: "reservations", Format: "csv", Columns: []string{"id"}, FileName: fmt.Sprint(i)},
			CreatedAt: now, RunAt: now,
		}
		stored, created, err := c.table.Insert(ctx, job, "")
		if err != nil || !created {
			return fmt.Errorf("insert %s: created %v, %w", job.ID, created, err)
		}
		if err := c.app.queue.Enqueue(ctx, stored); err != nil {
			return err
		}
	}
	return nil
}

func (*crowd) Lease() time.Duration { return time.Minute }

func (c *crowd) Run(ctx context.Context, j export.Job) error {
	c.mu.Lock()
	c.runs[j.ID]++
	c.starts[j.RequestedBy] = append(c.starts[j.RequestedBy], j.StartedAt)
	c.mu.Unlock()
	now := time.Now()
	err := c.app.jobs.Succeed(ctx, export.Fence{JobID: j.ID, Attempt: j.Attempt}, export.File{Key: export.FileKey(j)}, export.Receipt{}, now, now.Add(time.Hour))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all--; c.all == 0 {
		close(c.ended)
	}
	return err
}

// work runs the workers until all jobs have ended.
func (c *crowd) work(t *testing.T, workers, slots int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	for i := range workers {
		w := jobs.NewWorker(jobs.WorkerConfig{
			RedisURL: c.app.redisURL, Claims: c.app.jobs, Attempts: c.app.jobs, Runner: c, Queue: c.app.queue, SmallSlots: slots, SharedSlots: slots,
			Logger: slog.New(slog.DiscardHandler), ID: fmt.Sprintf("w%d", i),
		})
		group.Go(func() error { return w.Run(ctx) })
	}
	select {
	case <-c.ended:
	case <-time.After(3 * time.Minute):
		t.Error("the jobs do not end")
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// unfairness is the mean wait of the user who waited longest by that of the one who
// waited least, from the given moment on.
func unfairness(starts map[string][]time.Time, from time.Time) float64 {
	var means []float64
	for _, own := range starts {
		var sum float64
		for _, at := range own {
			sum += at.Sub(from).Seconds()
		}
		means = append(means, sum/float64(len(own)))
	}
	return slices.Max(means) / slices.Min(means)
}

// All wait before the first is run, a user's fifty one after the other: in the order
// of the orders the last user would wait some hundred times as long as the first.
func TestTenThousandJobsOfTwoHundredUsersAreServedInTurns(t *testing.T) {
	const users, each = 200, 50
	c := newCrowd(t, users*each)
	start := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	for u := range users {
		group.Go(func() error { return c.place(ctx, fmt.Sprintf("user%03d", u), each) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.work(t, 2, 2)
	t.Logf("ordered in %v, run in %v", began.Sub(start).Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	for id, n := range c.runs {
		if n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	if n := count(t, c.app, "SELECT COUNT(*) FROM export_jobs WHERE status = 'succeeded' AND attempt = 1"); n != users*each || len(c.runs) != users*each {
		t.Errorf("%d jobs ran and %d have succeeded at their first attempt", len(c.runs), n)
	}
	ratio := unfairness(c.starts, began)
	t.Logf("one user waited %.3f times as long as another", ratio)
	if len(c.starts) != users || ratio > 2 {
		t.Errorf("of %d users one waited %.2f times as long as another", len(c.starts), ratio)
	}
}

func TestFiftyJobsOfOneDoNotHoldUpAnothersFirst(t *testing.T) {
	c := newCrowd(t, 52)
	for _, o := range []struct {
		user string
		jobs int
	}{{"busy", 50}, {"late", 2}} {
		if err := c.place(t.Context(), o.user, o.jobs); err != nil {
			t.Fatal(err)
		}
	}
	late, err := c.app.jobs.Get(t.Context(), "late-00")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.app.jobs.Ahead(t.Context(), late); n != 1 || err != nil {
		t.Errorf("%d jobs are ahead of the first, %v", n, err)
	}
	w := c.app.jobs
	var first []string
	for range 4 {
		j, err := w.ClaimNext(t.Context(), export.QueueSmall, "w", time.Now(), time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, j.ID)
	}
	if diff := cmp.Diff([]string{"busy-00", "late-00", "busy-01", "late-01"}, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same through the gateway, by users who have signed in, with the real runner.
func TestOrdersOfManyUsersAreExportedInTurns(t *testing.T) {
	const users, each = 8, 6
	issuer := testoidc.Start(t)
	var front config.Config
	a, _ := boot(t, 60, func(cfg *config.Config) {
		noWorker(cfg)
		cfg.Issuer, cfg.ClientID, cfg.ClientSecret, cfg.Audience = issuer.URL(), issuer.ClientID, issuer.ClientSecret, "api"
		cfg.BaseURL, cfg.SessionKeys = "https://rowmill.example", []string{"a secret of the session cookies for tests"}
		cfg.MaxUserJobs = each
		front = *cfg
	})
	for u := range users {
		token := issuer.Token(t, map[string]any{"iss": issuer.URL(), "aud": "api", "sub": fmt.Sprintf("user%d", u), "roles": "operator", "exp": time.Now().Add(time.Hour).Unix()})
		for i := range each {
			if got := orderAs(t, a, token, fmt.Sprintf(`{"format":"csv","file_name":"%d.csv"}`, i)); got != http.StatusAccepted {
				t.Fatalf("order %d of user %d: %d", i, u, got)
			}
		}
	}
	began := time.Now()
	startWorkers(t, a, front, 2)
	until(t, "all jobs have succeeded", func() bool {
		return count(t, a, "SELECT COUNT(*) FROM export_jobs WHERE status = 'succeeded'") == users*each
	})
	if n := count(t, a, "SELECT MAX(attempt) FROM export_jobs"); n != 1 {
		t.Errorf("a job took %d attempts", n)
	}
	all, err := a.jobs.History(t.Context(), export.History{Limit: export.MaxHistory})
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string][]time.Time{}
	for _, j := range all {
		starts[j.RequestedBy] = append(starts[j.RequestedBy], j.StartedAt)
	}
	if ratio := unfairness(starts, began); len(starts) != users || ratio > 2 {
		t.Errorf("of %d users one waited %.2f times as long as another", len(starts), ratio)
	}
}

func orderAs(t *testing.T, a *app, token, body string) int {
	t.Helper()
	return statusAs(t, a, token, http.MethodPost, "/api/v1/exports", body)
}

// startWorkers runs processes' worth of workers beside the app, until the test ends.
func startWorkers(t *testing.T, a *app, cfg config.Config, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	for range n {
		own := cfg
		own.Roles, own.ReservationsURL = []string{string(config.Worker)}, a.reservations.url()
		w, err := newApp(t.Context(), &own, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() error { return w.run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}
