package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

// campaign is rounds of faults over exports in one house.
type campaign struct {
	*house
	want   map[string]content // by the shape's name
	idle   map[string]goroutines
	before ordered // an export that has succeeded, whose file is downloaded in the next round
	record record
}

// ordered is an export that was asked for.
type ordered struct {
	key    string
	shape  shape
	job    exportclient.Job
	cut    bool // the first order was cut before its answer
	cancel bool
}

// newCampaign starts a house and exports each shape once, without a fault.
func newCampaign(t *testing.T, rows int) *campaign {
	t.Helper()
	c := calm(t, rows)
	c.round(t, "calm", nil, len(shapes))
	c.measureIdle(t)
	return c
}

// calm starts a house and reads what its exports must hold.
func calm(t *testing.T, rows int) *campaign {
	t.Helper()
	c := &campaign{house: newHouse(t, rows), want: map[string]content{}, idle: map[string]goroutines{}}
	for _, s := range shapes {
		want, err := c.expected(t.Context(), s)
		if err != nil || len(want.Rows) == 0 || want.Sum == 0 {
			t.Fatalf("%s: %d rows, sum %d, %v: nothing would be shown", s.name, len(want.Rows), want.Sum, err)
		}
		c.want[s.name] = want
	}
	return c
}

// calling is how long one call of a client may take before it tries anew.
const calling = 5 * time.Second

// round runs exports under faults and checks what must hold when those are over.
func (c *campaign) round(t *testing.T, name string, faults []fault, exports int) {
	t.Helper()
	ctx, cancel := within(t, 3*time.Minute)
	defer cancel()
	orders := ordersOf(name, faults, exports)
	began := time.Now()
	var clients errgroup.Group
	for i, o := range orders {
		clients.Go(func() error { return c.order(ctx, t, i, o, began.Add(time.Duration(i)*spread)) })
	}
	lifted := c.befall(ctx, t, &clients, faults, began)
	if err := clients.Wait(); err != nil {
		c.found.add(t, "round %s: a client got nothing: %v", name, err)
		t.FailNow()
	}
	if err := until(ctx, func() error { return c.allEnded(ctx) }); err != nil {
		c.found.add(t, "round %s: jobs do not end: %v", name, err)
		t.FailNow() // the next round would find them too
	}
	recovery := max(0, time.Since(lifted))
	c.revive(ctx, t)
	jobs := c.check(ctx, t, orders)
	c.record.add(faults, jobs, recovery)
	t.Logf("round %s: %d faults, %s, all ended %s after the last fault", name, len(faults), outcomes(jobs), recovery.Round(10*time.Millisecond))
}

// spread is the time between two orders of a round.
const spread = 500 * time.Millisecond

// ordersOf gives a round's exports: one of each shape in turn, and one for each
// fault that is a client's.
func ordersOf(name string, faults []fault, exports int) (orders []*ordered) {
	add := func() *ordered {
		o := &ordered{key: fmt.Sprintf("%s-%d", name, len(orders)), shape: shapes[len(orders)%len(shapes)]}
		orders = append(orders, o)
		return o
	}
	for range exports {
		add()
	}
	for _, f := range faults {
		switch f.Kind {
		case orderCut:
			add().cut = true
		case canceled:
			add().cancel = true
		}
	}
	return orders
}

// befall lets each fault come and go at its time, and gives when the last had gone.
func (c *campaign) befall(ctx context.Context, t *testing.T, clients *errgroup.Group, faults []fault, began time.Time) time.Time {
	t.Helper()
	var all sync.WaitGroup
	for _, f := range faults {
		if f.Target == "client" {
			if f.Kind == downloadCut {
				clients.Go(func() error { return c.downloadInTwo(ctx, t, f, began) })
			}
			continue
		}
		all.Go(func() {
			wait(ctx, began.Add(f.At))
			lift, err := c.apply(ctx, f)
			if err != nil {
				c.found.add(t, "%v could not begin: %v", f, err)
			}
			wait(ctx, began.Add(f.At+f.For))
			if lift == nil {
				return
			}
			if err := lift(ctx); err != nil {
				c.found.add(t, "%v did not end: %v", f, err)
			}
		})
	}
	all.Wait()
	return time.Now()
}

// wait waits for the moment.
func wait(ctx context.Context, at time.Time) {
	alarm := time.NewTimer(time.Until(at))
	defer alarm.Stop()
	select {
	case <-alarm.C:
	case <-ctx.Done():
	}
}

// order asks for an export until it has an answer, of either gateway in turn.
func (c *campaign) order(ctx context.Context, t *testing.T, n int, o *ordered, at time.Time) error {
	wait(ctx, at)
	if o.cut {
		_ = c.orderAndLeave(ctx, c.gateway(n), o) // whether it came through is not known, as in life
	}
	err := c.insist(ctx, t, n, func(ctx context.Context, client *exportclient.Client) (err error) {
		o.job, err = client.Submit(ctx, o.shape.orderOf(o.key), o.key)
		return err
	})
	if err != nil || !o.cancel {
		return err
	}
	return c.insist(ctx, t, n, func(ctx context.Context, client *exportclient.Client) error {
		_, err := client.Cancel(ctx, o.job.ID)
		var p *exportclient.Problem
		if errors.As(err, &p) && p.Status == http.StatusConflict {
			return nil // it has ended before
		}
		return err
	})
}

// insist repeats a call, each time at the other gateway, until it succeeds. What
// is neither a fault of the way nor "come later" is a violation.
func (c *campaign) insist(ctx context.Context, t *testing.T, n int, do func(context.Context, *exportclient.Client) error) error {
	return until(ctx, func() error {
		call, cancel := context.WithTimeout(ctx, calling)
		defer cancel()
		n++
		err := do(call, c.client(n))
		var p *exportclient.Problem
		if errors.As(err, &p) && p.Status != http.StatusServiceUnavailable && p.Status != http.StatusGatewayTimeout && p.Status != http.StatusBadGateway {
			c.found.add(t, "the gateway answered %d: %v", p.Status, p)
		}
		return err
	})
}

// orderAndLeave sends an order and hangs up without reading the answer.
func (c *campaign) orderAndLeave(ctx context.Context, gateway string, o *ordered) error {
	body, err := json.Marshal(o.shape.orderOf(o.key))
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", gateway)
	if err != nil {
		return err
	}
	head := "POST /api/v1/exports HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " + token + "\r\nIdempotency-Key: " + o.key +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	_, err = conn.Write(append([]byte(head), body...))
	return errors.Join(err, conn.Close())
}

// downloadInTwo downloads a file of before, is cut midway and resumes.
func (c *campaign) downloadInTwo(ctx context.Context, t *testing.T, f fault, began time.Time) error {
	o := c.before
	wait(ctx, began.Add(f.At))
	path := filepath.Join(t.TempDir(), o.key+"."+o.shape.format)
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+o.job.ID+".part")
	_ = c.halfFile(ctx, o.job, part) // under faults it may have brought less, or nothing
	err := c.insist(ctx, t, 0, func(ctx context.Context, client *exportclient.Client) error { return client.Download(ctx, o.job, path) })
	if err != nil {
		return fmt.Errorf("download %s: %w", o.job.ID, err)
	}
	c.compare(t, &o, path)
	return nil
}

// halfFile begins a download and hangs up in its middle.
func (c *campaign) halfFile(ctx context.Context, job exportclient.Job, part string) error {
	ctx, cancel := context.WithTimeout(ctx, calling)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.gateway(0)+"/api/v1/exports/"+job.ID+"/file", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	half := &bytes.Buffer{}
	_, err = io.CopyN(half, resp.Body, job.Receipt.Bytes/2)
	return errors.Join(err, writeFile(part, half.Bytes()))
}

// allEnded is an error while a job waits or runs.
func (c *campaign) allEnded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, calling)
	defer cancel()
	live, err := c.texts(ctx, "SELECT CONCAT_WS(' ', id, status, phase, 'attempt', attempt, 'failures', failures, failure) FROM rowmill.export_jobs WHERE status IN ('queued', 'running')")
	if err == nil && len(live) > 0 {
		err = fmt.Errorf("%d jobs are alive: %s", len(live), strings.Join(live, "; "))
	}
	return err
}

// revive starts what has ended by itself, which nothing may.
func (c *campaign) revive(ctx context.Context, t *testing.T) {
	t.Helper()
	for name, m := range c.members {
		select {
		case <-m.process.Exited():
			c.found.add(t, "%s has ended by itself with %d: %s", name, m.process.ExitCode(), tail(m.process.Log(), logTail))
			if err := m.start(ctx); err != nil {
				t.Error(err)
			}
		default:
		}
	}
}

func outcomes(jobs []exportclient.Job) string {
	n := map[export.Status]int{}
	for _, j := range jobs {
		n[j.Status]++
	}
	return fmt.Sprintf("%d exports %v", len(jobs), n)
}
