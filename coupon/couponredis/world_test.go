package couponredis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/internal/testdb"
	"rowmill/repository"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const user = "kim@example.com"

// patience is long: a loaded machine is slow, and nothing here waits for it to pass.
const patience = 30 * time.Second

// wire counts what goes over connections: a trip is a turn from reading to writing.
type wire struct {
	mu    sync.Mutex
	trips map[string]int // by server
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	return &wireConn{Conn: c, wire: w, addr: addr, turned: true}, err
}

// taken gives the trips to each server since it was asked last.
func (w *wire) taken() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.trips
	w.trips = map[string]int{}
	return got
}

type wireConn struct {
	net.Conn
	wire   *wire
	addr   string
	turned bool // read since the last write
}

func (c *wireConn) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	if c.turned {
		c.wire.trips[c.addr]++
	}
	c.turned = false
	c.wire.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.mu.Lock()
	c.turned = true
	c.wire.mu.Unlock()
	return n, err
}

// world is a service on real servers.
type world struct {
	*coupon.Service
	store *repository.Coupons
	db    *repository.DB
	redis redis.UniversalClient
	wire  *wire
	log   *strings.Builder
}

// newWorld takes a Redis by its options; Addrs of several servers are a cluster.
func newWorld(t testing.TB, c repository.Config, addrs ...string) *world {
	t.Helper()
	w := &world{wire: &wire{trips: map[string]int{}}, log: new(strings.Builder)}
	var err error
	if w.db, err = repository.Open(t.Context(), c); err == nil {
		err = w.db.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.store = repository.NewCoupons(w.db)
	w.redis = redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: addrs, IsClusterMode: len(addrs) > 1, Dialer: w.wire.dial, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: patience,
		PoolSize: poolOf(len(addrs)), MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	w.Service = coupon.NewService(coupon.Config{
		Store: w.store, Copies: couponredis.New(w.redis, patience), Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	t.Cleanup(func() {
		if err := errors.Join(w.redis.Close(), w.db.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// poolOf leaves one server one connection, or greetings of another would be counted.
func poolOf(servers int) int {
	if servers == 1 {
		return 1
	}
	return 0 // the client's own
}

func sqlite(t testing.TB) repository.Config {
	t.Helper()
	return repository.Config{Path: filepath.Join(t.TempDir(), "db")}
}

func redisAddr(t testing.TB) string {
	t.Helper()
	t.Setenv("ROWMILL_TEST_REDIS_URL", "") // the connection's counting needs a server of its own
	options, err := redis.ParseURL(testdb.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	return options.Addr
}

// some gives a set in which every kind of fact decides something.
func some(products int) coupon.Set {
	r := rand.New(rand.NewPCG(7, 7))
	var s coupon.Set
	for id := range int64(20) {
		rule := coupon.Rule{ID: id + 1, Code: fmt.Sprintf("CODE%d", id+1), Kind: coupon.Rate, Value: 100 + r.Int64N(2000), From: noon.Add(-time.Hour), Until: noon.Add(time.Hour)}
		switch id % 4 {
		case 1:
			rule.Stock = 1 + r.Int64N(5)
		case 2:
			rule.HeldOnly = true
		case 3:
			rule.Kind, rule.Value, rule.Currency = coupon.Fixed, 1+r.Int64N(20_00), "EUR"
		}
		s.Rules = append(s.Rules, rule)
	}
	for id := range int64(products) {
		if id%7 == 3 {
			s.Excluded = append(s.Excluded, id+1)
		}
		if id%3 == 1 {
			s.Holders = append(s.Holders, coupon.Holder{Owner: coupon.OwnerOf(user), Product: id + 1, Rule: 3 + 4*r.Int64N(5)})
		}
	}
	s.Holders = append(s.Holders, coupon.Holder{Owner: coupon.OwnerOf(user), Product: coupon.EveryProduct, Rule: 7})
	return s
}

func items(n int) (items []coupon.Item) {
	r := rand.New(rand.NewPCG(uint64(n), 8))
	for id := range int64(n) {
		items = append(items, coupon.Item{Product: id + 1, Minor: r.Int64N(400_00), Currency: "EUR"})
	}
	return items
}

// plainly gives what the set makes of the items, with no store between.
func plainly(s coupon.Set, holder string, left map[int64]int64, items []coupon.Item) []coupon.Offer {
	e := coupon.Eligibility{Excluded: map[int64]bool{}, Held: map[int64][]int64{}, Left: map[int64]int64{}}
	for _, id := range s.Excluded {
		e.Excluded[id] = true
	}
	for _, h := range s.Holders {
		if h.Owner == coupon.OwnerOf(holder) {
			e.Held[h.Product] = append(e.Held[h.Product], h.Rule)
		}
	}
	for _, r := range s.Rules {
		e.Left[r.ID] = r.Stock
	}
	maps.Copy(e.Left, left)
	return coupon.Offers(s.Rules, e, items, noon, 1)
}
