package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// flight is one fetch of a key, which any number of callers wait for. It answers
// them once; where it found a stale value it does so before it has a fresh one.
type flight[V any] struct {
	done chan struct{}
	// Set once, before done is closed.
	entry entry[V]
	err   error
	// Guarded by Cache.mu.
	answered bool
	dead     bool // its key was invalidated: it may answer, but not be kept
	doubted  bool // its key may have been: it may be kept if Redis says that it was not
}

// fate is what became of a fetched value in Redis.
type fate uint8

const (
	unsettled fate = iota // it was found there, or Redis was not asked
	confirmed             // it was stored: no invalidation came between
	outdated              // its generation had ended
)

func (f *flight[V]) wait(ctx context.Context) (entry[V], error) {
	select {
	case <-f.done:
		return f.entry, f.err
	default:
	}
	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
		return entry[V]{}, context.Cause(ctx)
	}
}

// answer tells the waiting callers; only the first answer counts. The caller has Cache.mu.
func (f *flight[V]) answer(e entry[V], err error) {
	if !f.answered {
		f.entry, f.err, f.answered = e, err, true
		close(f.done)
	}
}

// board gives the key's entry if it is fresh by now, else its flight: the one
// that is under way, or a new one.
func (c *Cache[K, V]) board(ctx context.Context, key K, waits bool) (entry[V], *flight[V], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		if waits {
			c.counts.add(SharedWait)
		}
		return entry[V]{}, f, nil
	}
	// A flight may have landed since the caller looked.
	if e, ok := c.first.GetIfPresent(key); ok && c.now() < e.fresh {
		if waits {
			c.counts.add(FirstHit)
		}
		return e, nil, nil
	}
	if c.closed {
		return entry[V]{}, nil, ErrClosed
	}
	f := &flight[V]{done: make(chan struct{})}
	c.flights[key] = f
	c.running.Go(func() { c.fly(ctx, key, f) })
	return entry[V]{}, f, nil
}

// refresh sees to it that a flight is under way. Nobody waits for it: that it cannot
// start, after Close, is of no interest to who has a stale value.
func (c *Cache[K, V]) refresh(ctx context.Context, key K) { _, _, _ = c.board(ctx, key, false) }

// fly fetches the key. The caller who started it may go: of its context only the values stay.
func (c *Cache[K, V]) fly(ctx context.Context, key K, f *flight[V]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.LoadLimit)
	defer cancel()
	defer context.AfterFunc(c.base, cancel)() //nolint:contextcheck // Close ends what outlives its callers
	e, became, err := c.fetch(ctx, key, f)

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && f.answered:
		c.config.Log.WarnContext(ctx, "A cached value could not be refreshed.", "cache", c.config.Name, "error", err)
	case err == nil && !f.dead && became != outdated && (!f.doubted || became == confirmed):
		c.first.Set(key, e)
	case err == nil:
		c.counts.add(Outdated)
	}
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	f.answer(e, err)
}

// fetch gets the value from Redis, or loads it and puts it there.
func (c *Cache[K, V]) fetch(ctx context.Context, key K, f *flight[V]) (e entry[V], became fate, err error) {
	if c.second == nil {
		e, err = c.load(ctx, key)
		return e, unsettled, err
	}
	e, l, found := c.look(ctx, key, f)
	if found {
		return e, unsettled, nil
	}
	if e, err = c.load(ctx, key); err != nil || c.isDead(f) {
		// The context may be over, but others wait for the lock.
		c.second.release(context.WithoutCancel(ctx), l)
		return e, unsettled, err
	}
	return e, c.put(ctx, l, e), nil
}

// Between two looks for what another process loads.
const firstPause, longestPause = 2 * time.Millisecond, 50 * time.Millisecond

// look gives a fresh value of Redis, or else the right to load: alone, unless
// the process that loads has kept us waiting too long, or Redis fails.
func (c *Cache[K, V]) look(ctx context.Context, key K, f *flight[V]) (entry[V], lease, bool) {
	l := c.second.lease(c.config.Keys.Text(key), rand.Text())
	patience := time.NewTimer(c.config.LockFor)
	defer patience.Stop()
	unreadable := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		a, err := c.second.begin(ctx, l)
		if err != nil {
			return entry[V]{}, lease{}, false
		}
		e, readable := c.decode(a)
		if a.payload != "" && !readable {
			c.counts.add(Undecodable)
			c.second.discard(ctx, l, a.payload)
			if unreadable { // again: others may write what we cannot read
				return entry[V]{}, lease{}, false
			}
			unreadable = true
			continue
		}
		if a.state == stateFresh {
			c.counts.add(SecondHit)
			return e, lease{}, true
		}
		if a.payload != "" {
			c.answerStale(key, f, e)
		}
		l.generation = a.generation
		if a.state == stateOurs {
			return entry[V]{}, l, false
		}
		if pause == firstPause {
			c.counts.add(LockWait)
		}
		select {
		case <-patience.C:
			return entry[V]{}, l, false
		case <-ctx.Done():
			return entry[V]{}, l, false
		case <-time.After(pause):
		}
	}
}

// answerStale lets those go who wait, and others who come, while the flight goes on.
func (c *Cache[K, V]) answerStale(key K, f *flight[V], e entry[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.answered {
		return
	}
	c.counts.add(StaleHit)
	if !f.dead && !f.doubted {
		c.first.Set(key, e)
	}
	f.answer(e, nil)
}

func (c *Cache[K, V]) isDead(f *flight[V]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f.dead
}

// load calls Load, and makes an error of a panic.
func (c *Cache[K, V]) load(ctx context.Context, key K) (e entry[V], err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = entry[V]{}, fmt.Errorf("load into cache %s: panic: %v", c.config.Name, r)
		}
		if err != nil {
			c.counts.add(LoadError)
		}
	}()
	c.counts.add(Load)
	value, found, err := c.config.Load(ctx, key)
	if err != nil {
		return entry[V]{}, fmt.Errorf("load into cache %s: %w", c.config.Name, err)
	}
	e = entry[V]{value: value, found: found}
	if found {
		e.fresh = c.now() + c.config.jittered(c.config.FirstTTL)
		e.stale = e.fresh + c.config.StaleFor
	} else {
		e.fresh = c.now() + c.config.jittered(min(c.config.FirstTTL, c.config.AbsentTTL))
		e.stale = e.fresh
	}
	return e, nil
}
