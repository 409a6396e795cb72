package cache

import (
	"context"
	"slices"
	"strings"

	"rowmill/internal/fault"
)

// Invalidate says that the keys' values have changed: no call of Get that begins
// after it gives an older one in this process, and none in another once it has
// heard of it, which takes milliseconds. It is called after the change is
// readable by Load.
//
// The change has happened, so the end of ctx does not stop it; RedisLimit bounds
// it. An Unavailable error says that Redis could not be told: this process is
// rid of the values all the same and tells Redis when it answers again.
func (c *Cache[K, V]) Invalidate(ctx context.Context, keys ...K) error {
	for _, key := range keys {
		c.counts.add(Invalidated)
		c.drop(key)
	}
	if c.second == nil || len(keys) == 0 {
		return nil
	}
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = c.config.Keys.Text(key)
	}
	err := c.second.invalidate(context.WithoutCancel(ctx), texts)
	// A flight may have taken the old value from Redis meanwhile.
	for _, key := range keys {
		c.drop(key)
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "Other processes may show an older value for a while.")
	}
	return nil
}

// drop forgets the key, and what its flight will bring.
func (c *Cache[K, V]) drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		f.dead = true
		delete(c.flights, key)
	}
	c.first.Invalidate(key)
}

// clear forgets all keys. Any of them may have been invalidated unheard, and any
// that a flight is after: Redis knows.
func (c *Cache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.flights {
		f.doubted = true
	}
	c.first.InvalidateAll()
}

// hear takes a key's text that another process has invalidated.
func (c *Cache[K, V]) hear(text string) {
	key, err := c.config.Keys.Parse(text)
	if err != nil { // it means something: rather forget too much
		c.clear()
		return
	}
	c.drop(key)
	c.counts.add(Dropped)
}

// invalidate tells Redis and, through it, the other processes. What cannot be
// told is owed.
func (s *second) invalidate(ctx context.Context, texts []string) error {
	owed := s.debts.add(texts, s.life)
	var failed error
	for part := range slices.Chunk(owed, mostTold) {
		if failed == nil {
			_, failed = s.do(ctx, func(ctx context.Context) (any, error) { return nil, s.tell(ctx, part) })
		}
	}
	if failed != nil {
		s.debts.remind()
	}
	return failed
}

// mostTold keys are invalidated in one round trip.
const mostTold = 500

// tell pays debts.
func (s *second) tell(ctx context.Context, owed []debt) error {
	pipe := s.redis.Pipeline()
	for _, d := range owed {
		// By its text: a pipeline cannot say that Redis does not know the script.
		invalidateScript.Eval(ctx, pipe, s.keys(d.text), s.channel(), s.process+":"+d.text)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	s.debts.paid(owed)
	return nil
}

func (s *second) channel() string { return s.prefix + "dropped" }

// foreign gives the key's text of a message, and whether another process sent it.
func (s *second) foreign(message string) (text string, foreign bool) {
	process, text, _ := strings.Cut(message, ":")
	return text, process != s.process
}
