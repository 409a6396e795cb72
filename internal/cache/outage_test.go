package cache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

func TestRedisGoesAndComesBack(t *testing.T) {
	server := testdb.NewRedisServer(t)
	from := newSource()
	one, two := process(t, server.URL(), from, brisk), process(t, server.URL(), from, brisk)
	from.set(1, "old")
	wantGet(t, one, 1, "old")
	wantGet(t, two, 1, "old")
	loads := from.count()

	server.Stop()
	for key := range int64(20) {
		from.set(100+key, name(int(key)))
		wantGet(t, one, 100+key, name(int(key)))
	}
	wantLoads(t, from, loads+20)
	if got := one.Stats(); got.RedisErrors == 0 || got.LoadErrors != 0 {
		t.Errorf("stats: %+v", got)
	}

	heard := []uint64{one.Stats().Subscriptions, two.Stats().Subscriptions}
	server.Start()
	await(t, "the subscriptions", func() bool {
		return one.Stats().Subscriptions > heard[0] && two.Stats().Subscriptions > heard[1]
	})
	from.set(1, "new")
	wantGet(t, two, 1, "new") // the first tier was emptied: an invalidation may have been missed
	key := int64(1000)
	await(t, "a hit in Redis", func() bool {
		key++
		get(t, one, key)
		before := two.Stats().SecondHits
		get(t, two, key)
		return two.Stats().SecondHits > before
	})
	if err := one.Invalidate(t.Context(), 1); err != nil {
		t.Error(err)
	}
	await(t, "the message", func() bool { return two.Stats().Drops > 0 })
}

// One connection is cut, by whatever stands between; Redis itself goes on.
func TestALostSubscriptionEmptiesTheFirstTier(t *testing.T) {
	server := testdb.NewRedisServer(t)
	from := newSource()
	from.set(1, "old")
	c := process(t, server.URL(), from)
	wantGet(t, c, 1, "old")
	admin := redis.NewClient(&redis.Options{Addr: server.Address()})
	defer admin.Close()
	// As an invalidation whose message nobody hears.
	if err := admin.Del(t.Context(), c.second.keys("1")...).Err(); err != nil {
		t.Fatal(err)
	}
	from.set(1, "new")
	wantGet(t, c, 1, "old")
	heard := c.Stats().Subscriptions
	if err := admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	await(t, "the subscription", func() bool { return c.Stats().Subscriptions > heard })
	wantGet(t, c, 1, "new")
}

// A Redis that takes calls and never answers is asked once; then it rests.
func TestASilentRedisIsAskedOnce(t *testing.T) {
	from := newSource()
	client, err := Connect(newGate(t, "").url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	c := open(t, from, with(client), func(c *textConfig) { c.RedisRest = time.Hour })
	const keys = 200
	for key := range int64(keys) {
		from.set(key, name(int(key)))
		wantGet(t, c, key, name(int(key)))
	}
	wantLoads(t, from, keys)
	if got := c.Stats(); got.RedisErrors != 1 || got.Bypasses != keys-1 {
		t.Errorf("of %d calls %d went to Redis and %d did not", keys, got.RedisErrors, got.Bypasses)
	}
}

// While it is silent each rest ends with one call that is tried, whoever waits.
func TestASilentRedisCostsOneCallerItsLimit(t *testing.T) {
	from := newSource()
	client, err := Connect(newGate(t, "").url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var mu sync.Mutex
	under, most := 0, 0 // calls to Redis that are under way
	client.AddHook(counting{func(n int) {
		mu.Lock()
		defer mu.Unlock()
		under += n
		most = max(most, under)
	}})
	c := open(t, from, with(client), brisk)
	get(t, c, 1) // from now on it is known to be silent
	mu.Lock()
	most = 0
	mu.Unlock()
	key := int64(1)
	await(t, "some more calls", func() bool {
		var callers sync.WaitGroup
		for range 20 {
			key++
			asked := key
			callers.Go(func() { get(t, c, asked) })
		}
		callers.Wait()
		return c.Stats().RedisErrors > 3
	})
	mu.Lock()
	defer mu.Unlock()
	if most != 1 {
		t.Errorf("%d calls at a time were tried, want 1", most)
	}
}

// That a load's time is over says nothing of Redis.
func TestTheEndOfALoadIsNoFaultOfRedis(t *testing.T) {
	client, err := Connect(newGate(t, "").url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	c := open(t, newSource(), with(client), func(c *textConfig) {
		c.LoadLimit, c.RedisLimit = 20*time.Millisecond, time.Hour
		c.Load = func(ctx context.Context, _ int64) (string, bool, error) { return "", false, ctx.Err() }
	})
	for key := range int64(2) {
		if _, _, err := c.Get(t.Context(), key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
	if got := c.Stats(); got.RedisErrors != 0 || got.Bypasses != 0 {
		t.Errorf("stats: %+v", got)
	}
}

// What Redis could not be told of is not taken from it, nor put into it, and it
// is told when it answers again.
func TestAnInvalidationThatRedisMissesIsOwed(t *testing.T) {
	server := testdb.NewRedisServer(t)
	way := newGate(t, server.Address())
	from := newSource()
	cut, other := process(t, way.url(), from, brisk), process(t, server.URL(), from)
	from.set(1, "old")
	wantGet(t, cut, 1, "old")
	wantGet(t, other, 1, "old")
	held := from.hold()
	var before sync.WaitGroup
	before.Go(func() { wantGet(t, cut, 2, "absent") })
	slow := <-held // its generation is of before the silence
	from.letGo()

	way.set(true)
	from.set(1, "new")
	from.set(2, "new, too")
	if err := cut.Invalidate(t.Context(), 1, 2); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("Redis cannot have been told: %v", err)
	}
	close(slow)
	before.Wait()
	wantGet(t, cut, 1, "new")
	wantGet(t, cut, 2, "new, too")
	wantGet(t, other, 1, "old") // it cannot know

	way.set(false)
	await(t, "the message", func() bool { return other.Stats().Drops >= 2 })
	wantGet(t, other, 1, "new")
	wantGet(t, other, 2, "new, too")
	await(t, "the end of the debt", func() bool { return !cut.second.debts.has("1") && !cut.second.debts.has("2") })
	wantGet(t, process(t, server.URL(), from), 1, "new")
}

// Redis was not there when the load began, and cannot say whether a message was
// missed before it came back.
func TestADoubtedFlightIsNotKeptIfRedisCannotConfirmIt(t *testing.T) {
	server := testdb.NewRedisServer(t)
	from := newSource()
	from.set(1, "old")
	c := process(t, server.URL(), from, brisk)
	server.Stop()
	held := from.hold()
	var before sync.WaitGroup
	before.Go(func() { wantGet(t, c, 1, "old") })
	slow := <-held
	from.letGo()
	heard := c.Stats().Subscriptions
	server.Start()
	await(t, "the subscription", func() bool { return c.Stats().Subscriptions > heard })
	close(slow)
	before.Wait()
	from.set(1, "new")
	wantGet(t, c, 1, "new")
}

func TestAKeyThatIsOwedIsNotTakenFromRedis(t *testing.T) {
	url, from := testdb.Redis(t), newSource()
	from.set(1, "old")
	wantGet(t, process(t, url, from), 1, "old")
	from.set(1, "new")
	c := process(t, url, from)
	owed := c.second.debts.add([]string{"1"}, time.Hour)
	wantGet(t, c, 1, "new")
	c.second.debts.paid(owed)
	c.first.Invalidate(1)
	wantGet(t, c, 1, "old") // as nobody has told Redis
}

// Even where the debt is forgotten, what began before the invalidation is not stored.
func TestADeadFlightStoresNothing(t *testing.T) {
	server := testdb.NewRedisServer(t)
	way := newGate(t, server.Address())
	from := newSource()
	from.set(1, "old")
	c := process(t, way.url(), from, brisk)
	c.second.life = -time.Hour
	held := from.hold()
	var before sync.WaitGroup
	before.Go(func() { wantGet(t, c, 1, "old") })
	slow := <-held
	from.letGo()
	way.set(true)
	if err := c.Invalidate(t.Context(), 1); err == nil {
		t.Error("Redis cannot have been told")
	}
	await(t, "the end of the debt", func() bool { return !c.second.debts.has("1") })
	way.set(false)
	key := int64(1)
	await(t, "a call that Redis answers", func() bool {
		failed := c.Stats()
		key++
		get(t, c, key)
		now := c.Stats()
		return now.RedisErrors == failed.RedisErrors && now.Bypasses == failed.Bypasses
	})
	close(slow)
	before.Wait()
	await(t, "the landing", func() bool { return c.Stats().Outdated == 1 })
	if got, err := c.config.Redis.Exists(t.Context(), c.second.keys("1")[0]).Result(); got != 0 || err != nil {
		t.Errorf("the old value is in Redis: %d, %v", got, err)
	}
}

func TestDebtsEndWithTheLifeOfWhatIsOwed(t *testing.T) {
	d := debts{wake: make(chan struct{}, 1), by: map[string]debt{}}
	first := d.add([]string{"past", "kept"}, -time.Second)
	d.add([]string{"kept"}, time.Hour)
	d.paid(first[1:]) // an older invalidation does not pay the newer one
	open := d.open()
	if len(open) != 1 || open[0].text != "kept" {
		t.Errorf("open: %v", open)
	}
	if d.has("past") || !d.has("kept") {
		t.Error("a debt that time has paid is still there, or one that it has not is gone")
	}
	d.paid(open)
	if d.has("kept") {
		t.Error("a paid debt is still there")
	}
}

// A cluster refuses a script whose names lie in different slots.
func TestACluster(t *testing.T) {
	server := testdb.NewRedisServer(t, "--cluster-enabled", "yes")
	admin := redis.NewClient(&redis.Options{Addr: server.Address()})
	defer admin.Close()
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster", func() bool { return admin.Set(t.Context(), "probe", 1, 0).Err() == nil })
	from := newSource()
	join := func() *Cache[string, string] {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Address()}, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		c, err := New(Config[string, string]{
			Name: "cluster", Keys: Texts(), Values: JSON[string](), Redis: client, RedisLimit: time.Minute, LockFor: time.Minute,
			Load: func(ctx context.Context, key string) (string, bool, error) { return from.load(ctx, int64(len(key))) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		await(t, "the subscription", func() bool { return c.Stats().Subscriptions > 0 })
		return c
	}
	one, two := join(), join()
	keys := []string{"", "a", "{}", "}a{", "four", "{five"}
	want := func(c *Cache[string, string], want string) {
		t.Helper()
		for _, key := range keys {
			if got, found, err := c.Get(t.Context(), key); got != want || !found || err != nil {
				t.Errorf("Get(%q) gives %q, %v, %v", key, got, found, err)
			}
		}
	}
	for i := range keys {
		from.set(int64(len(keys[i])), "old")
	}
	want(one, "old")
	want(two, "old")
	for i := range keys {
		from.set(int64(len(keys[i])), "new")
	}
	if err := one.Invalidate(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
	await(t, "the messages", func() bool { return two.Stats().Drops == uint64(len(keys)) })
	want(two, "new")
	want(one, "new")
	wantLoads(t, from, 2*len(keys))
}
