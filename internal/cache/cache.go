// Package cache keeps what is read often and changes seldom, in two tiers: the
// first in the process, the second in Redis, where all processes share it.
//
// # What it promises
//
//   - One load. Callers of a key that nobody has wait for one load: in a process
//     by a flight, among processes by a lock in Redis. A caller who gives up harms
//     no other; the load goes on, within LoadLimit. A load that fails, or panics,
//     fails those who waited for it, and the next caller tries again.
//   - Stale, then fresh. A value past its time is given at once, for up to
//     StaleFor, while one flight makes it fresh. Absence is kept too, for AbsentTTL,
//     and is never given stale.
//   - Nothing old comes back. Invalidate ends the flights and the generation of a
//     key: a load that began before it may answer those who wait for it, but is
//     kept in no tier, however late it ends.
//   - Everybody hears of it. Invalidate publishes the keys, and every process drops
//     them. A process that may have missed a message, since its subscription was
//     lost, empties its first tier as soon as it has it back.
//   - Redis is help, not a need. Each call to it has RedisLimit; after one that
//     fails none is tried for RedisRest, and the values come from Load. What Redis
//     should have been told of by Invalidate is told when it is back; until then
//     this process leaves these keys alone in Redis. Another process may give the
//     old value for as long as a tier keeps it.
//
// # What is in Redis
//
// For each key, in one slot of a cluster, as {key} is a hash tag:
//
//	rowmill:cache:v<schema>:<name>:{<key>}       value: 'v' and what Encode gave, or 'a' for absent
//	rowmill:cache:v<schema>:<name>:{<key>}:gen   generation: a random number
//	rowmill:cache:v<schema>:<name>:{<key>}:lock  token of the flight that loads
//	rowmill:cache:v<schema>:<name>:dropped       channel: <process>:<key>
//
// Each lives no longer than it is of use. The schema number is part of the
// name, so processes of different releases do not read each other's values.
package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
)

// ErrClosed is the error of a call that comes after Close.
var ErrClosed = errors.New("the cache is closed")

// Cache keeps values by key. It is safe for concurrent use, and has to be closed.
type Cache[K comparable, V any] struct {
	config Config[K, V]
	first  *otter.Cache[K, entry[V]]
	second *second // nil: there is none
	began  time.Time
	counts counts

	base    context.Context // ends at Close
	end     context.CancelFunc
	running sync.WaitGroup

	// mu is held while the first tier is written to: what is in it and which
	// flights may still write to it change together.
	mu      sync.Mutex
	flights map[K]*flight[V]
	closed  bool
}

// entry is a value or an absence. Its times are those of Cache.now: up to fresh
// it is as good as new, up to stale it may be given while another is fetched.
type entry[V any] struct {
	value        V
	found        bool
	fresh, stale time.Duration
}

// New gives a cache, and starts to listen to what other processes invalidate.
func New[K comparable, V any](config Config[K, V]) (*Cache[K, V], error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	c := &Cache[K, V]{config: config, began: config.Now(), flights: map[K]*flight[V]{}, counts: counts{hook: config.Observe}}
	options := &otter.Options[K, entry[V]]{
		MaximumSize: config.Size,
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[K, entry[V]]) time.Duration {
			return max(e.Value.stale-c.now(), 1)
		}),
		Clock: clock(c.now),
	}
	var err error
	if c.first, err = otter.New(options); err != nil {
		return nil, fmt.Errorf("make the first tier of %s: %w", config.Name, err)
	}
	c.base, c.end = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	if config.Redis != nil {
		c.second = newSecond(config.tier(), &c.counts)
		c.running.Go(func() { c.second.listen(c.base, c.hear, c.clear) })
		c.running.Go(func() { c.second.pay(c.base) })
	}
	return c, nil
}

// Get gives the key's value; false if there is none. It waits no longer than ctx.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, found bool, err error) {
	if e, ok := c.first.GetIfPresent(key); ok {
		now := c.now()
		if now < e.fresh {
			c.counts.add(FirstHit)
			return e.value, e.found, nil
		}
		if now < e.stale {
			c.counts.add(StaleHit)
			c.refresh(ctx, key)
			return e.value, e.found, nil
		}
	}
	e, f, err := c.board(ctx, key, true)
	if err != nil {
		return value, false, err
	}
	if f != nil {
		e, err = f.wait(ctx)
	}
	return e.value, e.found, err
}

// Close stops the loads and the subscription, and waits for their end. The Redis
// client stays open.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
	c.first.StopAllGoroutines()
}

// Stats gives what has been counted since New.
func (c *Cache[K, V]) Stats() Stats { return c.counts.stats() }

// now is the time since New; a clock that is set does not move it.
func (c *Cache[K, V]) now() time.Duration { return c.config.Now().Sub(c.began) }

// clock tells otter our time. It does without ticks: an entry whose time is over
// leaves at a later write, and Size bounds them all.
type clock func() time.Duration

func (now clock) NowNano() int64                      { return int64(now()) }
func (now clock) Tick(time.Duration) <-chan time.Time { return nil }
