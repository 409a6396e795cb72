package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

// Faults at a moment that no drawn fault is sure to hit. Each has a house of its own.

const fewRows = 1600

// must fails the test at once.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put lets a fault befall the house until it is lifted.
func (c *campaign) put(ctx context.Context, t *testing.T, target string, k kind, size int) (lift func()) {
	t.Helper()
	remove, err := c.apply(ctx, fault{Target: target, Kind: k, Size: size})
	must(t, err)
	return func() {
		t.Helper()
		must(t, remove(ctx))
	}
}

// ended waits until all jobs have ended and holds the order to its promises.
func (c *campaign) ended(ctx context.Context, t *testing.T, orders ...*ordered) {
	t.Helper()
	must(t, until(ctx, func() error { return c.allEnded(ctx) }))
	for _, job := range c.check(ctx, t, orders) {
		if job.Status != export.Succeeded {
			t.Errorf("job %s is %s: %+v", job.ID, job.Status, job.Failure)
		}
	}
}

// submit orders at the first gateway.
func (c *campaign) submit(ctx context.Context, t *testing.T, o *ordered) {
	t.Helper()
	var err error
	o.job, err = c.client(0).Submit(ctx, o.shape.orderOf(o.key), o.key)
	must(t, err)
}

// submitAgain orders at the other gateway, as a client does that had no answer, and
// must get the job that the first order has made.
func (c *campaign) submitAgain(ctx context.Context, t *testing.T, o *ordered, id string) {
	t.Helper()
	var err error
	o.job, err = c.client(1).Submit(ctx, o.shape.orderOf(o.key), o.key)
	if err != nil || o.job.ID != id {
		t.Errorf("asked again, the order is job %s, %v; it was %s", o.job.ID, err, id)
	}
}

// stored waits until the order's job is in the table and gives its id.
func (c *campaign) stored(ctx context.Context, t *testing.T, o *ordered) (id string) {
	t.Helper()
	must(t, until(ctx, func() error {
		ids, err := c.texts(ctx, "SELECT id FROM rowmill.export_jobs WHERE idempotency_key = ?", o.key)
		if err != nil || len(ids) != 1 {
			return fmt.Errorf("the order is %d jobs: %w", len(ids), err)
		}
		id = ids[0]
		return nil
	}))
	return id
}

// running waits until the job's rows are fetched, and it has not ended. Rows that are
// written would tell too late: workers that share a job write most of them at its end.
func (c *campaign) running(ctx context.Context, t *testing.T, id string) {
	t.Helper()
	must(t, until(ctx, func() error {
		at, err := c.texts(ctx, "SELECT 1 FROM rowmill.export_jobs WHERE id = ? AND status = 'running' AND phase = 'fetch'", id)
		if err == nil && len(at) == 0 {
			err = errors.New("the job does not run")
		}
		return err
	}))
}

// A gateway dies when it has stored an order and not yet sent it.
func TestAGatewayKilledBetweenStoringAnOrderAndSendingIt(t *testing.T) {
	t.Parallel()
	c := calm(t, fewRows)
	ctx, cancel := within(t, 90*time.Second)
	defer cancel()
	for _, name := range []string{"worker-1", "worker-2"} { // else one of them sends it at once
		must(t, c.members[name].process.Stop())
	}
	lift := c.put(ctx, t, "gateway→redis", unheard, 0)
	o := &ordered{key: "unsent", shape: shapes[0]}
	answered := make(chan error, 1)
	go func() {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := c.client(0).Submit(call, o.shape.orderOf(o.key), o.key)
		answered <- err
	}()
	id := c.stored(ctx, t, o)
	must(t, c.members["gateway-1"].process.Kill())
	if err := <-answered; err == nil {
		t.Error("the order was answered: nothing is shown")
	}
	lift()
	if keys, err := c.keys.Keys(ctx, "*"+id+"*").Result(); err != nil || len(keys) != 0 {
		t.Fatalf("Redis knows of the job: %q, %v: nothing is shown", keys, err)
	}
	for _, name := range []string{"gateway-1", "worker-1", "worker-2"} {
		must(t, c.members[name].start(ctx))
	}
	c.submitAgain(ctx, t, o, id)
	c.ended(ctx, t, o)
}

// A client goes when its order is stored and not yet answered.
func TestAnOrderWhoseConnectionIsCutBeforeItsAnswerIsOneJob(t *testing.T) {
	t.Parallel()
	c := calm(t, fewRows)
	ctx, cancel := within(t, 90*time.Second)
	defer cancel()
	lift := c.put(ctx, t, "gateway→redis", latency, 1000) // time between the two
	o := &ordered{key: "unanswered", shape: shapes[0]}
	call, leave := context.WithCancel(ctx)
	answered := make(chan error, 1)
	go func() {
		_, err := c.client(0).Submit(call, o.shape.orderOf(o.key), o.key)
		answered <- err
	}()
	id := c.stored(ctx, t, o)
	leave()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v: nothing is shown", err)
	}
	lift()
	c.submitAgain(ctx, t, o, id)
	c.ended(ctx, t, o)
}

// The SQL server itself goes, or stands still for longer than a lease, and comes back.
func TestSQLGoesWhileAnExportRunsAndComesBack(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{sqlRestarted, sqlStopped} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			c := calm(t, fewRows)
			ctx, cancel := within(t, 90*time.Second)
			defer cancel()
			slowly := c.put(ctx, t, "worker→reservations", latency, 50)
			o := &ordered{key: "sql-away", shape: shapes[0]}
			c.submit(ctx, t, o)
			c.running(ctx, t, o.job.ID)
			back := c.put(ctx, t, "sql", k, 0)
			gone := time.Now()
			for i, path := range []string{"/api/v1/exports", "/api/v1/exports/" + o.job.ID} {
				if status, after := c.ask(ctx, t, path, i == 0); status != http.StatusServiceUnavailable || after == "" {
					t.Errorf("%s answers %d, Retry-After %q", path, status, after)
				}
			}
			wait(ctx, gone.Add(lease+time.Second))
			back()
			slowly()
			c.ended(ctx, t, o)
		})
	}
}

// ask calls the gateway and gives its status and Retry-After.
func (c *campaign) ask(ctx context.Context, t *testing.T, path string, order bool) (status int, after string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if order {
		method, body = http.MethodPost, strings.NewReader(`{"file_name":"while it is away"}`)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.gateway(1)+path, body)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := unkept.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

// The Redis server itself goes and comes back with nothing.
func TestRedisGoesWhileAnExportRunsAndComesBackEmpty(t *testing.T) {
	t.Parallel()
	c := calm(t, fewRows)
	ctx, cancel := within(t, 90*time.Second)
	defer cancel()
	slowly := c.put(ctx, t, "worker→reservations", latency, 50)
	orders := []*ordered{{key: "running", shape: shapes[0]}, {key: "taken-meanwhile", shape: shapes[2]}}
	c.submit(ctx, t, orders[0])
	c.running(ctx, t, orders[0].job.ID)
	back := c.put(ctx, t, "redis", redisRestarted, 0)
	c.submit(ctx, t, orders[1])
	if status, _ := c.ask(ctx, t, "/readyz", false); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d without Redis", status)
	}
	slowly()
	first := c.endOf(ctx, t, orders[0].job.ID)
	if first.Status != export.Succeeded {
		t.Errorf("the export that ran is %s without Redis: %+v", first.Status, first.Failure)
	}
	if second, err := c.client(1).Get(ctx, orders[1].job.ID); err != nil || second.Status != export.Queued {
		t.Errorf("the export ordered meanwhile is %s, %v", second.Status, err)
	}
	back()
	c.ended(ctx, t, orders...)
}

// endOf follows a job to its end.
func (c *campaign) endOf(ctx context.Context, t *testing.T, id string) exportclient.Job {
	t.Helper()
	job, err := c.client(1).Follow(ctx, id, 50*time.Millisecond, func(exportclient.Job) {})
	must(t, err)
	return job
}
