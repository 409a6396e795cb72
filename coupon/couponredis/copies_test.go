package couponredis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
	"rowmill/repository"
)

// cost is what a question took.
type cost struct {
	statements int64
	trips      int // to the server that was asked most
}

// ask asks for prices and fails unless they are what they should be.
func (w *world) ask(t *testing.T, who string, want, items []coupon.Offer) cost {
	t.Helper()
	asked := make([]coupon.Item, len(items))
	for i, o := range items {
		asked[i] = o.Item
	}
	w.wire.taken()
	ctx, sent := telemetry.CountStatements(t.Context())
	got, err := w.Prices(ctx, who, noon, asked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	c := cost{statements: sent.Count()}
	for _, n := range w.wire.taken() {
		c.trips = max(c.trips, n)
	}
	return c
}

func eachEngine(t *testing.T, test func(t *testing.T, c repository.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite(t)) })
	t.Run("mysql", func(t *testing.T) { test(t, repository.Config{DSN: testdb.MySQL(t)}) })
}

// The trips are counted on the connections: however many products, one trip from the
// copies, and two where they have to be made first.
func TestTripsDoNotGrowWithTheProducts(t *testing.T) {
	eachEngine(t, func(t *testing.T, c repository.Config) {
		w := newWorld(t, c, redisAddr(t))
		set := some(coupon.MaxProducts)
		if err := w.store.Put(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		first := plainly(set, user, nil, items(1))
		w.ask(t, user, first, first) // or the greetings of the first connection would be counted
		for _, n := range []int{1, 200, coupon.MaxProducts} {
			if err := w.redis.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			want := plainly(set, user, nil, items(n))
			if got := w.ask(t, user, want, want); got != (cost{4, 2}) {
				t.Errorf("%d products, empty Redis: %+v, want 4 statements and 2 trips", n, got)
			}
			if got := w.ask(t, user, want, want); got != (cost{1, 1}) {
				t.Errorf("%d products: %+v, want 1 statement and 1 trip", n, got)
			}
		}
	})
}

// commands counts what a client sends, as its user sees it.
type commands struct{ single, pipelines, inPipelines int }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.single++
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.pipelines++
		c.inPipelines += len(cmds)
		return next(ctx, cmds)
	}
}

func TestAQuestionIsThreeCommandsInOnePipeline(t *testing.T) {
	w := newWorld(t, sqlite(t), redisAddr(t))
	set := some(200)
	if err := w.store.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	want := plainly(set, user, nil, items(200))
	w.ask(t, user, want, want)
	sent := new(commands)
	w.redis.AddHook(sent)
	w.ask(t, user, want, want)
	if *sent != (commands{pipelines: 1, inPipelines: 3}) {
		t.Errorf("%+v", *sent)
	}
}

func TestOnAClusterEveryCommandKeepsToItsSlot(t *testing.T) {
	nodes := testdb.RedisCluster(t, 3)
	w := newWorld(t, sqlite(t), nodes...)
	set := some(200)
	owners := 0
	for n := range 12 { // whose slots lie on every node
		for _, h := range set.Holders[:10] {
			h.Owner = coupon.OwnerOf(fmt.Sprint("user", n))
			set.Holders = append(set.Holders, h)
		}
	}
	if err := w.store.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for n := range 12 {
		who := fmt.Sprint("user", n)
		want := plainly(set, who, nil, items(200))
		w.ask(t, who, want, want) // connects, and makes the copies
		if got := w.ask(t, who, want, want); got != (cost{1, 1}) {
			t.Errorf("%s: %+v, want 1 statement and 1 trip to each of its nodes", who, got)
		}
		key := "rowmill:coupon:{" + coupon.OwnerOf(who) + "}:eligible"
		cluster := w.redis.(*redis.ClusterClient)
		node, err := cluster.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		servers[node.Options().Addr] = true
		if n, err := cluster.Exists(t.Context(), key).Result(); err != nil || n != 1 {
			t.Errorf("%s has no copy: %v", who, err)
		}
		owners++
	}
	if len(servers) != 3 {
		t.Errorf("%d owners lie on %v", owners, servers)
	}
}

// Whatever happens to the copies, no price is made of them.
func TestNoPriceComesFromACopyThatIsNotWhole(t *testing.T) {
	w := newWorld(t, sqlite(t), redisAddr(t))
	set := some(60)
	if err := w.store.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	want := plainly(set, user, nil, items(60))
	eligible := "rowmill:coupon:{" + coupon.OwnerOf(user) + "}:eligible"
	const excluded, stock = "rowmill:coupon:{global}:excluded", "rowmill:coupon:{global}:stock"
	for name, harm := range map[string]func(ctx context.Context) error{
		"emptied":                   func(ctx context.Context) error { return w.redis.FlushAll(ctx).Err() },
		"excluded products gone":    func(ctx context.Context) error { return w.redis.Del(ctx, excluded).Err() },
		"stock gone":                func(ctx context.Context) error { return w.redis.Del(ctx, stock).Err() },
		"eligibility gone":          func(ctx context.Context) error { return w.redis.Del(ctx, eligible).Err() },
		"a rule's stock gone":       func(ctx context.Context) error { return w.redis.HDel(ctx, stock, "2").Err() },
		"a stock that is none":      func(ctx context.Context) error { return w.redis.HSet(ctx, stock, "2", "many").Err() },
		"an eligibility that isn't": func(ctx context.Context) error { return w.redis.HSet(ctx, eligible, "2", "1,,x").Err() },
		"another database's": func(ctx context.Context) error {
			return w.redis.HSet(ctx, stock, "version", "other", "2", 0).Err()
		},
		"an older version of the excluded": func(ctx context.Context) error {
			if err := w.redis.Del(ctx, excluded).Err(); err != nil {
				return err
			}
			return w.redis.SAdd(ctx, excluded, "v:older", 1, 2, 3).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.ask(t, user, want, want)
			if got := w.ask(t, user, want, want); got != (cost{1, 1}) {
				t.Fatalf("there are no copies to harm: %+v", got)
			}
			if err := harm(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.ask(t, user, want, want); got.trips != 2 || got.statements < 2 {
				t.Errorf("%+v: the copy was believed", got)
			}
			if got := w.ask(t, user, want, want); got != (cost{1, 1}) {
				t.Errorf("%+v: the copies were not made anew", got)
			}
		})
	}
}

// Every change of the facts is seen by the next question.
func TestEveryChangeIsSeenAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, c repository.Config) {
		w := newWorld(t, c, redisAddr(t))
		set := some(30)
		if err := w.store.Put(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		left := map[int64]int64{}
		seen := func(what string) {
			t.Helper()
			want := plainly(set, user, left, items(30))
			w.ask(t, user, want, want)
			if got := w.ask(t, user, want, want); got != (cost{1, 1}) {
				t.Errorf("%s: %+v", what, got)
			}
		}
		seen("at first")
		change := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			seen(what)
		}
		set.Excluded = append(set.Excluded, 1)
		change("another excluded product", w.store.Put(t.Context(), coupon.Set{Excluded: []int64{1}}))
		gone := set.Excluded[0]
		set.Excluded = set.Excluded[1:]
		change("a product that is excluded no more", w.store.Withdraw(t.Context(), coupon.Set{Excluded: []int64{gone}}))
		lost := set.Holders[0]
		set.Holders = set.Holders[1:]
		change("a coupon that is held no more", w.store.Withdraw(t.Context(), coupon.Set{Holders: []coupon.Holder{lost}}))
		set.Rules[0].Value = 9000
		change("a rule of another value", w.store.Put(t.Context(), coupon.Set{Rules: set.Rules[:1]}))
		for n := set.Rules[1].Stock; n > 0; n-- {
			left[set.Rules[1].ID] = n - 1
			change("a use that is taken", w.store.Take(t.Context(), set.Rules[1].ID, noon))
		}
		if err := w.store.Take(t.Context(), set.Rules[1].ID, noon); fault.KindOf(err) != fault.Conflict {
			t.Errorf("more uses than there are: %v", err)
		}
		seen("a use that is refused")
	})
}

func TestStrangersLeaveNothingInRedis(t *testing.T) {
	w := newWorld(t, sqlite(t), redisAddr(t))
	set := some(30)
	if err := w.store.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		who := fmt.Sprint("stranger", n)
		want := plainly(set, who, nil, items(30))
		w.ask(t, who, want, want)
	}
	want := plainly(set, user, nil, items(30))
	w.ask(t, user, want, want)
	keys, err := w.redis.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 {
		t.Errorf("keys %v, %v", keys, err)
	}
	for _, key := range keys {
		ttl, err := w.redis.TTL(t.Context(), key).Result()
		if err != nil || ttl <= 0 || ttl > 24*time.Hour || strings.Contains(key, "kim") {
			t.Errorf("%s lives for %v, %v", key, ttl, err)
		}
	}
}

func TestWithoutRedisThereAreWordsAndNoPrices(t *testing.T) {
	w := newWorld(t, sqlite(t), "127.0.0.1:1")
	if err := w.store.Put(t.Context(), some(10)); err != nil {
		t.Fatal(err)
	}
	got, err := w.Prices(t.Context(), user, noon, items(10))
	if f, ok := fault.As(err); !ok || f.Kind != fault.Unavailable || !strings.Contains(f.Message, "Redis does not answer") || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err = coupon.NewService(coupon.Config{Store: w.store}).Prices(t.Context(), user, noon, items(10))
	if f, ok := fault.As(err); !ok || f.Kind != fault.Unavailable || !strings.Contains(f.Message, "no Redis") || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Prices(ctx, user, noon, items(10)); fault.KindOf(err) == fault.Unavailable {
		t.Errorf("a caller that went away is told of Redis: %v", err)
	}
	if strings.Contains(w.log.String(), "kim") {
		t.Errorf("the log names the user: %s", w.log)
	}
}

// A Redis that cannot be written to costs statements, not prices.
func TestCopiesThatCannotBeWrittenHarmNobody(t *testing.T) {
	addr := redisAddr(t)
	w := newWorld(t, sqlite(t), addr)
	set := some(10)
	if err := w.store.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := w.redis.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	want := plainly(set, user, nil, items(10))
	for range 2 {
		if got := w.ask(t, user, want, want); got.statements != 4 {
			t.Errorf("%+v", got)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "copies of the coupon facts were not written") || strings.Contains(log, "kim") {
		t.Errorf("log: %s", log)
	}
}

func TestAReadingEndsWithItsTimeout(t *testing.T) {
	w := newWorld(t, sqlite(t), redisAddr(t))
	if err := w.redis.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	q := coupon.Question{Versions: coupon.Versions{Excluded: "v"}, Products: []int64{1}}
	if _, _, err := couponredis.New(w.redis, time.Nanosecond).Read(t.Context(), q); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}
