package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is where the values are: texts by id. A load that a test holds tells it and waits.
type source struct {
	mu     sync.Mutex
	values map[int64]string
	loads  int
	err    error
	crash  any
	held   chan chan struct{} // nil: loads do not wait
}

func newSource() *source { return &source{values: map[int64]string{}} }

func (s *source) load(ctx context.Context, key int64) (string, bool, error) {
	s.mu.Lock()
	s.loads++
	value, found := s.values[key]
	err, crash, held := s.err, s.crash, s.held
	s.mu.Unlock()
	if held != nil { // the value has been read: it grows old here
		goOn := make(chan struct{})
		select {
		case held <- goOn:
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
		select {
		case <-goOn:
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
	}
	if crash != nil {
		panic(crash)
	}
	return value, found, err
}

func (s *source) set(key int64, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// fail makes loads fail, or hold, from now on.
func (s *source) fail(err error, crash any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.crash = err, crash
}

func (s *source) hold() chan chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(chan chan struct{})
	return s.held
}

func (s *source) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

type (
	textCache  = Cache[int64, string]
	textConfig = Config[int64, string]
)

// open gives a cache of the source without Redis, and without jitter, unless adjusted.
func open(t testing.TB, from *source, adjust ...func(*textConfig)) *textCache {
	t.Helper()
	config := textConfig{Name: "texts", Load: from.load, Keys: Integers(), Values: JSON[string](), Random: func() float64 { return 0.5 }}
	for _, a := range adjust {
		a(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// process gives a cache as one of several processes that share a Redis, when it
// listens. Its limits do not end on a loaded machine, unless adjusted.
func process(t testing.TB, url string, from *source, adjust ...func(*textConfig)) *textCache {
	t.Helper()
	client, err := Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return listening(t, open(t, from, append([]func(*textConfig){with(client), patient}, adjust...)...))
}

func patient(c *textConfig) {
	c.RedisLimit, c.LockFor, c.LoadLimit = time.Minute, time.Minute, 2*time.Minute
}

// brisk is for tests in which Redis does not answer.
func brisk(c *textConfig) { c.RedisLimit, c.RedisRest = 200*time.Millisecond, 20*time.Millisecond }

func with(client redis.UniversalClient) func(*textConfig) {
	return func(c *textConfig) { c.Redis = client }
}

func listening(t testing.TB, c *textCache) *textCache {
	t.Helper()
	await(t, "the subscription", func() bool { return c.Stats().Subscriptions > 0 })
	return c
}

// get gives what Get does, as one text.
func get(t testing.TB, c *textCache, key int64) string {
	t.Helper()
	value, found, err := c.Get(t.Context(), key)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !found:
		return "absent"
	default:
		return value
	}
}

func wantGet(t testing.TB, c *textCache, key int64, want string) {
	t.Helper()
	if got := get(t, c, key); got != want {
		t.Errorf("Get(%d) gives %q, want %q", key, got, want)
	}
}

func wantLoads(t testing.TB, from *source, want int) {
	t.Helper()
	if got := from.count(); got != want {
		t.Errorf("%d loads, want %d", got, want)
	}
}

// await waits for what comes without a signal; a loaded machine is slow.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-deadline.C:
			t.Fatalf("%s did not come", what)
		case <-again.C:
		}
	}
}

// eachRedis runs the test with a real Redis and with the one that is embedded.
func eachRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("redis", func(t *testing.T) { test(t, testdb.Redis(t)) })
	t.Run("embedded", func(t *testing.T) { test(t, "redis://"+miniredis.RunT(t).Addr()) })
}

// seeded gives numbers that are the same in each run.
func seeded() func() float64 {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(1, 2))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64()
	}
}

var errBroken = errors.New("broken")

func name(i int) string { return fmt.Sprintf("value %d", i) }
