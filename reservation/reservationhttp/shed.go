package reservationhttp

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"rowmill/internal/fault"
)

// Classes of calls that are bounded apart from each other, as Config.OnShed names
// them. Other calls, such as /livez, are never turned away.
const (
	ClassPages     = "pages"     // batches of ids
	ClassSnapshots = "snapshots" // streams of ids
	ClassReads     = "reads"     // lists, counts, single rows and coupon prices
)

// Capacity is how many calls the API answers at once, by their class. Beyond it a
// call waits for its turn, for a while and if there is room to wait; else it is
// turned away as Overloaded, before it has cost a statement. Zeros stand for the
// defaults.
type Capacity struct {
	Pages     int // 0: DefaultPages
	Snapshots int // 0: DefaultSnapshots
	Reads     int // 0: DefaultReads

	Waiting int           // calls that may wait, for each that is answered; 0: 4, negative: none
	Wait    time.Duration // the longest wait; 0: 1 s
}

// Defaults of a Capacity: a dozen workers' pools do not come near.
const (
	DefaultPages     = 64
	DefaultSnapshots = 16 // each holds a connection to the database while it lasts
	DefaultReads     = 64
)

// shedRetry is when a call that was turned away may come back: the least that
// Retry-After can say. The client's own waits grow from there.
const shedRetry = time.Second

// gate lets a class of calls in.
type gate struct {
	class   string
	places  *semaphore.Weighted // first come, first served
	waiting atomic.Int64
	room    int64
	wait    time.Duration
	onShed  func(class string) // may be nil
}

func (c Config) gate(class string, places, usual int) *gate {
	places = max(1, cmp.Or(places, usual))
	return &gate{
		class: class, places: semaphore.NewWeighted(int64(places)), onShed: c.OnShed,
		room: int64(max(0, cmp.Or(c.Capacity.Waiting, 4))) * int64(places), wait: cmp.Or(c.Capacity.Wait, time.Second),
	}
}

// admit lets a call through to its handler when there is a place for it, and
// holds the place until the call is answered.
func (g *gate) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !g.places.TryAcquire(1) {
			if err := holdBody(c); err != nil {
				return err
			}
			if err := g.queue(c.Request().Context()); err != nil {
				return err
			}
		}
		defer g.places.Release(1)
		return next(c)
	}
}

// queue waits for a place. A caller who goes away leaves the queue.
func (g *gate) queue(ctx context.Context) error {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.room {
		return g.shed()
	}
	waiting, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	if err := g.places.Acquire(waiting, 1); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return g.shed()
}

func (g *gate) shed() error {
	if g.onShed != nil {
		g.onShed(g.class)
	}
	f := fault.New(fault.Overloaded, "The reservation API has more calls than it can answer. Try again in a moment.")
	f.RetryAfter = shedRetry
	return f
}

// holdBody reads the body of a call that will wait: net/http sees that a caller
// has gone only once the body is read.
func holdBody(c echo.Context) error {
	req := c.Request()
	body, err := readAll(req.Body, nil)
	if err != nil {
		return bodyFailure(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
