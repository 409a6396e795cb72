package cache

import "sync/atomic"

// Event is something that a cache counts.
type Event uint8

// What happens in a cache.
const (
	FirstHit    Event = iota // a fresh value of the process was given
	SecondHit                // a flight found a fresh value in Redis
	StaleHit                 // a value past its time was given
	Load                     // Load was called
	LoadError                // it failed or panicked
	SharedWait               // a caller waits for a flight that another one started
	LockWait                 // a flight waits for one of another process
	RedisError               // a call to Redis failed
	Bypass                   // Redis was not asked: it rests, or is owed an invalidation of the key
	Undecodable              // what Redis held could not be read
	Outdated                 // a loaded value was not kept, since its key was invalidated meanwhile
	Invalidated              // a key was invalidated by this process
	Dropped                  // a key was dropped since another process invalidated it
	Listening                // the subscription is there, or there again; the first tier was emptied
	events
)

// Stats are the counts of each Event since the cache was made.
type Stats struct {
	FirstHits, SecondHits, StaleHits             uint64
	Loads, LoadErrors, SharedWaits, LockWaits    uint64
	RedisErrors, Bypasses, Undecodable, Outdated uint64
	Invalidations, Drops, Subscriptions          uint64
}

type counts struct {
	hook func(Event) // nil: nobody is told
	of   [events]atomic.Uint64
}

func (c *counts) add(e Event) {
	c.of[e].Add(1)
	if c.hook != nil {
		c.hook(e)
	}
}

func (c *counts) stats() Stats {
	n := func(e Event) uint64 { return c.of[e].Load() }
	return Stats{
		FirstHits: n(FirstHit), SecondHits: n(SecondHit), StaleHits: n(StaleHit),
		Loads: n(Load), LoadErrors: n(LoadError), SharedWaits: n(SharedWait), LockWaits: n(LockWait),
		RedisErrors: n(RedisError), Bypasses: n(Bypass), Undecodable: n(Undecodable), Outdated: n(Outdated),
		Invalidations: n(Invalidated), Drops: n(Dropped), Subscriptions: n(Listening),
	}
}
