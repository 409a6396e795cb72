// Package pool bounds how many calls run at once in the whole process, shares
// the slots fairly between the jobs that want them, and gives results back in
// the order of their inputs. It holds at most a window of results, so a long
// run costs no more memory than a short one. How many calls run at once is fixed,
// or follows their latency and their refusals (NewAdaptive).
package pool

import (
	"context"
	"slices"
	"sync"
)

// Pool is a number of slots, fixed or following the calls. It is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	limit   int
	taken   int
	waiting []*Lane   // lanes with waiters; the first is served next
	gov     *governor // nil: the limit is fixed
}

// New returns a pool of size slots, at least 1.
func New(size int) *Pool { return &Pool{limit: max(1, size)} }

// Limit gives how many calls may run at once now.
func (p *Pool) Limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit
}

// Usage gives how many calls may run at once now, how many do, and how many wait.
func (p *Pool) Usage() (limit, taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.waiting {
		waiting += len(l.waiters)
	}
	return p.limit, p.taken, waiting
}

// Lane is one user of a pool. Free slots go round the lanes that wait, so a job
// of many pages cannot starve a job of few.
type Lane struct {
	pool    *Pool
	waiters []chan struct{}
}

// Lane returns a new lane. It needs no closing.
func (p *Pool) Lane() *Lane { return &Lane{pool: p} }

// acquire takes a slot, waiting for its turn until ctx ends.
func (l *Lane) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	p := l.pool
	p.mu.Lock()
	if p.taken < p.limit { // a freed slot goes to a waiter first, so nobody waits here
		p.taken++
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(l.waiters) == 0 {
		p.waiting = append(p.waiting, l)
	}
	l.waiters = append(l.waiters, turn)
	p.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(l.waiters, turn)
	if i >= 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
		if len(l.waiters) == 0 {
			at := slices.Index(p.waiting, l)
			p.waiting = slices.Delete(p.waiting, at, at+1)
		}
	}
	p.mu.Unlock()
	if i < 0 { // the slot came at the same moment: pass it on
		l.release()
	}
	return context.Cause(ctx)
}

// release gives a slot back, to the next lane that waits if there is one.
func (l *Lane) release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.pool.taken--
	l.pool.serve()
}

// serve hands out the slots that are free. The caller holds the lock.
func (p *Pool) serve() {
	for p.taken < p.limit && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		turn := next.waiters[0]
		next.waiters = slices.Delete(next.waiters, 0, 1)
		if len(next.waiters) > 0 {
			p.waiting = append(p.waiting, next)
		}
		p.taken++
		close(turn)
	}
}
