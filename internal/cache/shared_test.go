package cache

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

func TestColdProcessesLoadOnce(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		for _, processes := range []int{2, 4} {
			from := newSource()
			key := int64(processes)
			from.set(key, "value")
			held := from.hold()
			var callers sync.WaitGroup
			for range processes {
				c := process(t, url, from)
				for range 100 {
					callers.Go(func() { wantGet(t, c, key, "value") })
				}
			}
			goOn := <-held
			close(goOn)
			callers.Wait()
			wantLoads(t, from, 1)
		}
	})
}

func TestInvalidationReachesTheOthers(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		from.set(1, "old")
		from.set(2, "stays")
		var caches []*textCache
		for range 4 {
			c := process(t, url, from)
			wantGet(t, c, 1, "old")
			wantGet(t, c, 2, "stays")
			wantGet(t, c, 3, "absent")
			caches = append(caches, c)
		}
		wantLoads(t, from, 3)
		from.set(1, "new")
		from.set(3, "new, too")
		if err := caches[0].Invalidate(t.Context(), 1, 3); err != nil {
			t.Fatal(err)
		}
		wantGet(t, caches[0], 1, "new")
		for _, c := range caches[1:] {
			await(t, "the message", func() bool { return c.Stats().Drops == 2 })
			wantGet(t, c, 1, "new")
			wantGet(t, c, 3, "new, too")
			wantGet(t, c, 2, "stays")
		}
		wantLoads(t, from, 5)
		if got := caches[0].Stats(); got.Drops != 0 || got.Invalidations != 2 {
			t.Errorf("who invalidates heard itself: %+v", got)
		}
	})
}

// The load has begun, another process invalidates, the load ends: Redis must
// refuse it, and so must the process, whether it has heard of it or not.
func TestASlowLoadPutsNothingOldBackIntoRedis(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		for _, hears := range []bool{true, false} {
			from, key := newSource(), int64(1)
			if hears {
				key = 2
			}
			from.set(key, "old")
			slow, other, third := process(t, url, from), process(t, url, from), process(t, url, from)
			if !hears { // it takes the other's messages for its own
				slow.second.process = other.second.process
			}
			held := from.hold()
			var before sync.WaitGroup
			before.Go(func() { wantGet(t, slow, key, "old") })
			goOn := <-held
			from.letGo()
			from.set(key, "new")
			if err := other.Invalidate(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if hears {
				await(t, "the message", func() bool { return slow.Stats().Drops == 1 })
			}
			wantGet(t, other, key, "new") // loads at once: the lock went with the generation
			close(goOn)
			before.Wait()
			wantGet(t, third, key, "new")
			await(t, "the landing", func() bool { return slow.Stats().Outdated == 1 })
			wantGet(t, slow, key, "new")
			wantLoads(t, from, 2)
			if got := other.Stats(); got.LockWaits != 0 {
				t.Errorf("who loads after the invalidation has waited: %+v", got)
			}
		}
	})
}

// The other order: the old value is in Redis and in processes before the invalidation.
func TestInvalidationRemovesWhatASlowLoadHasStored(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		from.set(1, "old")
		slow, other := process(t, url, from), process(t, url, from)
		held := from.hold()
		var before sync.WaitGroup
		before.Go(func() { wantGet(t, slow, 1, "old") })
		goOn := <-held
		from.letGo()
		from.set(1, "new")
		close(goOn)
		before.Wait()
		wantGet(t, other, 1, "old") // not invalidated yet
		if err := other.Invalidate(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		wantGet(t, other, 1, "new")
		await(t, "the message", func() bool { return slow.Stats().Drops == 1 })
		wantGet(t, slow, 1, "new")
		wantLoads(t, from, 2)
	})
}

// A flight that began before the subscription was lost and found again may be
// kept if Redis says that nothing came between, and only then.
func TestADoubtedFlightIsKeptIfRedisConfirmsIt(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		from.set(1, "old")
		from.set(2, "value")
		c, other := process(t, url, from), process(t, url, from)
		c.second.process = other.second.process // deaf
		held := from.hold()
		var callers sync.WaitGroup
		callers.Go(func() { wantGet(t, c, 1, "old") })
		one := <-held
		callers.Go(func() { wantGet(t, c, 2, "value") })
		two := <-held
		from.letGo()
		from.set(1, "new")
		if err := other.Invalidate(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		c.clear()
		close(one)
		close(two)
		callers.Wait()
		wantGet(t, c, 1, "new")
		wantGet(t, c, 2, "value")
		wantLoads(t, from, 3)
		if got := c.Stats(); got.FirstHits != 1 || got.Outdated != 1 {
			t.Errorf("stats: %+v", got)
		}
	})
}

func TestTimesToLiveInRedis(t *testing.T) {
	server := miniredis.RunT(t)
	from := newSource()
	var mu sync.Mutex
	now := time.Now()
	clock := func(c *textConfig) {
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		c.AbsentTTL = 20 * time.Second
	}
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		server.FastForward(d)
	}
	fresh := func() *textCache { return process(t, "redis://"+server.Addr(), from, clock) }
	from.set(1, "old")
	wantGet(t, fresh(), 1, "old")
	wantGet(t, fresh(), 2, "absent")
	from.set(1, "new")
	from.set(2, "here")

	pass(19 * time.Second)
	wantGet(t, fresh(), 2, "absent")
	pass(time.Second)
	wantGet(t, fresh(), 2, "here")
	pass(40*time.Second - time.Millisecond)
	c := fresh()
	wantGet(t, c, 1, "old")
	wantLoads(t, from, 3)
	if got := c.Stats(); got.SecondHits != 1 || got.StaleHits != 0 {
		t.Errorf("stats: %+v", got)
	}
	pass(time.Millisecond) // 60 s: stale in Redis, and no fresher in the process that has just taken it
	wantGet(t, c, 1, "old")
	await(t, "the refresh", func() bool { return from.count() == 4 && get(t, c, 1) == "new" })

	pass(60*time.Second + 30*time.Second - time.Millisecond)
	from.set(1, "newest")
	held := from.hold()
	c = fresh()
	wantGet(t, c, 1, "new") // the last moment of the stale value
	close(<-held)
	from.letGo()
	await(t, "the refresh", func() bool { return get(t, c, 1) == "newest" })
	from.set(1, "last")
	pass(90 * time.Second)
	wantGet(t, fresh(), 1, "last")
}

func TestTimesToLiveInRedisAreJittered(t *testing.T) {
	server := miniredis.RunT(t)
	from := newSource()
	c := process(t, "redis://"+server.Addr(), from, func(c *textConfig) { c.Random = seeded() })
	low, high := time.Hour, time.Duration(0)
	for key := range int64(300) {
		from.set(key, "value")
		wantGet(t, c, key, "value")
		ttl := server.TTL(c.second.keys(c.config.Keys.Text(key))[0]) - 30*time.Second
		low, high = min(low, ttl), max(high, ttl)
	}
	if low < 54*time.Second || low > 56*time.Second || high > 66*time.Second || high < 64*time.Second {
		t.Errorf("times to live from %v to %v, want nearly all of 54 s to 66 s", low, high)
	}
}

func TestAStaleValueOfRedisIsGivenWhileOneProcessLoads(t *testing.T) {
	server := miniredis.RunT(t)
	url := "redis://" + server.Addr()
	from := newSource()
	from.set(1, "old")
	wantGet(t, process(t, url, from), 1, "old")
	server.FastForward(70 * time.Second)
	from.set(1, "new")
	held := from.hold()
	caches := []*textCache{process(t, url, from), process(t, url, from), process(t, url, from)}
	for range 10 {
		for _, c := range caches {
			wantGet(t, c, 1, "old")
		}
	}
	close(<-held)
	for _, c := range caches {
		await(t, "the refresh", func() bool { return get(t, c, 1) == "new" })
	}
	wantLoads(t, from, 2)
}

func TestWhatCannotBeReadIsAMiss(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		c := process(t, url, from)
		for key, held := range []string{"", "v", "v{", "x\"value\"", "v7"} {
			from.set(int64(key), name(key))
			if err := c.config.Redis.Set(t.Context(), c.second.keys(c.config.Keys.Text(int64(key)))[0], held, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			wantGet(t, c, int64(key), name(key))
			wantGet(t, process(t, url, from), int64(key), name(key))
			wantLoads(t, from, key+1)
		}
		if got := c.Stats(); got.Undecodable != 4 || got.RedisErrors != 0 {
			t.Errorf("stats: %+v", got)
		}
	})
}

func TestAFailedLoadGivesTheLockBack(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		one, two := process(t, url, from), process(t, url, from)
		from.set(1, "value")
		from.fail(nil, "crash")
		wantGet(t, one, 1, "error: load into cache texts: panic: crash")
		from.fail(nil, nil)
		wantGet(t, two, 1, "value")
		if got := two.Stats(); got.LockWaits != 0 {
			t.Errorf("stats: %+v", got)
		}
	})
}

// Who has the lock may have died: others wait for a bounded time.
func TestALockIsWaitedForWithABound(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		from.set(1, "value")
		c := process(t, url, from, func(c *textConfig) { c.LockFor = 50 * time.Millisecond })
		lock := c.second.keys("1")[2]
		if err := c.config.Redis.Set(t.Context(), lock, "of a dead process", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		wantGet(t, c, 1, "value")
		if got := c.Stats(); got.LockWaits != 1 || got.Loads != 1 {
			t.Errorf("stats: %+v", got)
		}
		wantGet(t, process(t, url, from), 1, "value") // it was stored all the same
		wantLoads(t, from, 1)
		if held := c.config.Redis.Get(t.Context(), lock).Val(); held != "of a dead process" {
			t.Errorf("the lock of another is now %q", held)
		}
	})
}

// A generation that Redis has lost does not come back as the same.
func TestALostGenerationIsAnEndedOne(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		from := newSource()
		from.set(1, "old")
		slow, other := process(t, url, from), process(t, url, from)
		slow.second.process = other.second.process // deaf
		held := from.hold()
		var before sync.WaitGroup
		before.Go(func() { wantGet(t, slow, 1, "old") })
		goOn := <-held
		from.letGo()
		if err := other.config.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		from.set(1, "new")
		wantGet(t, other, 1, "new")
		close(goOn)
		before.Wait()
		wantGet(t, process(t, url, from), 1, "new")
	})
}
