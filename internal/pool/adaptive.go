package pool

import (
	"context"
	"log/slog"
	"time"
)

// Limits bound how many calls an adaptive pool lets run at once.
type Limits struct {
	Min, Initial, Max int // 1 ≤ Min ≤ Initial ≤ Max
}

// The rule: at the end of each period the mean duration of its calls is held
// against the usual one. Up to twice as long passes for noise; beyond that the
// limit shrinks in proportion, at most by half at once (multiplicative decrease);
// else it grows by one if it was used up (additive increase). Five periods fit into
// a second, so an overload has been answered by then; a limiter that steps down by
// one would need longer than two.
const (
	period       = 200 * time.Millisecond
	tolerance    = 2.0
	mostShrink   = 0.5
	usualFalling = 0.3  // weight of a period that was faster than usual
	usualRising  = 0.02 // and of a slower one: what lasts becomes usual in half a minute
)

// governor follows the durations of calls.
type governor struct {
	limits Limits
	log    *slog.Logger
	exact  float64       // the limit, before it is rounded down
	usual  time.Duration // 0: not known yet

	ends   time.Time // of the period
	sum    time.Duration
	calls  int
	usedUp bool // all slots were taken at some time in the period

	shrunk  time.Time // when a refusal shrank the limit last
	ceiling float64   // to which the limit may grow
	lift    time.Time // when the ceiling may rise
}

// NewAdaptive returns a pool whose size follows the latency of the calls: it
// shrinks while they take longer than is usual, and when the server turns one
// away (Refused), and grows again, between the limits.
func NewAdaptive(l Limits, log *slog.Logger) *Pool {
	l.Min = max(1, l.Min)
	l.Initial = max(l.Min, l.Initial)
	l.Max = max(l.Initial, l.Max)
	p := New(l.Initial)
	p.gov = &governor{limits: l, log: log, exact: float64(l.Initial), ceiling: float64(l.Max)}
	return p
}

// observe takes note of a call that began then and has ended now. One that was cut
// off says nothing, and one that was turned away has said it: how long it then
// waited to come back is no latency.
func (p *Pool) observe(ctx context.Context, r *onSlot, began time.Time) {
	if p.gov == nil || ctx.Err() != nil {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.refused {
		return
	}
	g := p.gov
	g.sum += now.Sub(began)
	g.calls++
	g.usedUp = g.usedUp || p.taken >= p.limit
	if g.ends.IsZero() {
		g.ends = began.Add(period)
	}
	if now.Before(g.ends) {
		return
	}
	if limit := g.decide(now); limit != p.limit {
		g.log.DebugContext(ctx, "concurrency follows the latency", "from", p.limit, "to", limit, "usual", g.usual)
		p.limit = limit
		p.serve()
	}
	g.ends, g.sum, g.calls, g.usedUp = now.Add(period), 0, 0, false
}

// decide ends a period and gives the limit for the next.
func (g *governor) decide(now time.Time) int {
	mean := g.sum / time.Duration(g.calls)
	if g.usual == 0 {
		g.usual = mean
	}
	slower := float64(mean) / float64(max(1, g.usual))
	switch {
	case slower > tolerance:
		g.exact *= max(mostShrink, tolerance/slower)
	case g.usedUp:
		g.grow(now)
	}
	g.exact = min(max(g.exact, float64(g.limits.Min)), float64(g.limits.Max))
	weight := usualRising
	if mean < g.usual {
		weight = usualFalling
	}
	g.usual += time.Duration(weight * float64(mean-g.usual))
	return int(g.exact)
}
