package cache

import (
	"context"
	"time"
)

// The first byte of what is in Redis.
const (
	holdsValue  = 'v'
	holdsAbsent = 'a'
)

// decode reads what Redis gave; false if it cannot be read.
func (c *Cache[K, V]) decode(a answer) (e entry[V], ok bool) {
	if a.payload == "" {
		return e, false
	}
	now := c.now()
	switch a.payload[0] {
	case holdsAbsent:
		e.fresh = now + min(a.left, c.config.jittered(min(c.config.FirstTTL, c.config.AbsentTTL)))
		e.stale = e.fresh
		return e, true
	case holdsValue:
		value, err := c.config.Values.Decode([]byte(a.payload[1:]))
		if err != nil {
			return e, false
		}
		// A tier gives nothing that is older than the tier behind it would.
		fresh := max(min(a.left-c.config.StaleFor, c.config.jittered(c.config.FirstTTL)), 0)
		return entry[V]{value: value, found: true, fresh: now + fresh, stale: now + min(a.left, fresh+c.config.StaleFor)}, true
	default:
		return e, false
	}
}

// put puts the value into Redis.
func (c *Cache[K, V]) put(ctx context.Context, l lease, e entry[V]) fate {
	ttl, payload := c.config.jittered(c.config.AbsentTTL), []byte{holdsAbsent}
	if e.found {
		encoded, err := c.config.Values.Encode(e.value)
		if err != nil {
			c.config.Log.WarnContext(ctx, "A value could not be written for Redis.", "cache", c.config.Name, "error", err)
			c.second.release(ctx, l)
			return unsettled
		}
		ttl = c.config.jittered(c.config.SecondTTL) + c.config.StaleFor
		payload = append([]byte{holdsValue}, encoded...)
	}
	return c.second.store(ctx, l, payload, max(ttl, time.Millisecond))
}
