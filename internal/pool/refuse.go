package pool

import (
	"context"
	"time"
)

// A refusal halves the limit, as latency does at the most. Growth then stops one
// short of where the server refused, and feels its way up from there: the first
// step after a while without a refusal, each later one slower than a server takes
// to say no. So a lasting bound costs a refusal every few seconds, and one that
// has gone is left behind in as many seconds as there are slots.
const (
	quiet = 5 * time.Second
	probe = time.Second
)

// onSlot is a call on a slot of a pool.
type onSlot struct {
	pool    *Pool
	refused bool // guarded by the pool's mu
}

type slotKey struct{}

// Refused tells the pool on whose slot ctx's call runs that the server has turned
// away what it was asked at the moment asked. The call may try again: the pool
// shrinks now and not when the call ends. Outside of an adaptive pool's call it
// does nothing.
func Refused(ctx context.Context, asked time.Time) {
	if r, ok := ctx.Value(slotKey{}).(*onSlot); ok && r.pool.gov != nil {
		r.pool.refuse(ctx, r, asked)
	}
}

func (p *Pool) refuse(ctx context.Context, r *onSlot, asked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.refused = true
	now := time.Now()
	if limit := p.gov.refuse(asked, now); limit != p.limit {
		p.gov.log.DebugContext(ctx, "concurrency shrinks, as calls are turned away", "from", p.limit, "to", limit)
		p.limit = limit
	}
}

// refuse gives the limit after a refusal. What was asked before the limit shrank
// says nothing of the new one.
func (g *governor) refuse(asked, now time.Time) int {
	g.lift = now.Add(quiet)
	if !asked.After(g.shrunk) {
		return int(g.exact)
	}
	g.shrunk = now
	g.ceiling = max(float64(g.limits.Min), float64(int(g.exact)-1))
	g.exact = max(float64(g.limits.Min), g.exact*mostShrink)
	return int(g.exact)
}

// grow gives the limit one more, as far as refusals allow.
func (g *governor) grow(now time.Time) {
	if g.exact >= g.ceiling && now.After(g.lift) {
		g.ceiling, g.lift = g.ceiling+1, now.Add(probe)
	}
	g.exact = max(g.exact, min(g.exact+1, g.ceiling))
}
