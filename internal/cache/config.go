package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config says what a cache holds and for how long. A zero value of what has a
// default means the default.
type Config[K comparable, V any] struct {
	// Name tells this cache's keys from those of others: 1 to 40 of a-z, 0-9, '-'.
	Name string
	// Schema is raised whenever what Encode gives changes.
	Schema int
	// Load reads a value from where it is kept; false if there is none. It has the
	// values of the first caller's context, but not its end, and has to stop when
	// its own context does.
	Load func(ctx context.Context, key K) (value V, found bool, err error)
	// Keys and Values are needed where there is a Redis.
	Keys   Keys[K]
	Values Values[V]
	// Redis is the second tier; nil: there is none. It may be a single server, a
	// Sentinel's or a Cluster, and must have ContextTimeoutEnabled: see Connect.
	Redis redis.UniversalClient

	// Size is how many values the process holds (10,000).
	Size int
	// FirstTTL (5 s) and SecondTTL (60 s) are how long a value is fresh in a tier,
	// give or take Jitter.
	FirstTTL, SecondTTL time.Duration
	// AbsentTTL is how long an absence is kept in Redis, and at most in the process (5 s).
	AbsentTTL time.Duration
	// StaleFor is how long a value is kept past its time (30 s); negative: not at all.
	StaleFor time.Duration
	// LoadLimit bounds a load and all that goes with it (10 s).
	LoadLimit time.Duration
	// LockFor is how long a flight keeps others from loading its key, and how long
	// they wait for it (3 s).
	LockFor time.Duration
	// RedisLimit bounds a call to Redis (200 ms), RedisRest is the time after a
	// failed one in which there are no others (1 s).
	RedisLimit, RedisRest time.Duration

	// Observe is told what happens, in the caller's goroutine: it must be quick. nil: nobody is.
	Observe func(Event)
	// Log is told when Redis stops and starts to answer, and which refreshes fail. nil: nobody is.
	Log *slog.Logger
	// Random gives numbers in [0, 1) from any goroutine; nil: those of math/rand/v2.
	Random func() float64
	// Now gives the time; nil: time.Now.
	Now func() time.Time
}

// Jitter is the part of a time to live by which it is made longer or shorter at
// random, so that values which were loaded together do not end together.
const Jitter = 0.1

// Keys turns keys into texts and back. Distinct keys have distinct texts.
type Keys[K comparable] struct {
	Text  func(K) string
	Parse func(string) (K, error)
}

// Values turns values into bytes and back. Bytes that Decode refuses are as good as none.
type Values[V any] struct {
	Encode func(V) ([]byte, error)
	Decode func([]byte) (V, error)
}

// Integers are keys that are ids.
func Integers() Keys[int64] {
	return Keys[int64]{
		Text:  func(k int64) string { return strconv.FormatInt(k, 10) },
		Parse: func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) },
	}
}

// Texts are keys that are texts.
func Texts() Keys[string] {
	return Keys[string]{Text: func(k string) string { return k }, Parse: func(s string) (string, error) { return s, nil }}
}

// JSON writes values as JSON.
func JSON[V any]() Values[V] {
	return Values[V]{
		Encode: func(v V) ([]byte, error) { return json.Marshal(v) },
		Decode: func(b []byte) (v V, err error) { err = json.Unmarshal(b, &v); return v, err },
	}
}

// Client is a client of a Redis, of Sentinel's or of a Cluster.
type Client = redis.UniversalClient

// Connect gives a client of one Redis, as a cache needs it. A client that is made
// otherwise needs ContextTimeoutEnabled, or a call would last as long as the
// client's own, longer limits.
func Connect(url string) (Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the cache's Redis has no Redis URL") // the cause may quote a password
	}
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

func (c Config[K, V]) withDefaults() Config[K, V] {
	c.Size = cmp.Or(c.Size, 10_000)
	c.FirstTTL = cmp.Or(c.FirstTTL, 5*time.Second)
	c.SecondTTL = cmp.Or(c.SecondTTL, time.Minute)
	c.AbsentTTL = cmp.Or(c.AbsentTTL, 5*time.Second)
	c.StaleFor = max(cmp.Or(c.StaleFor, 30*time.Second), 0)
	c.LoadLimit = cmp.Or(c.LoadLimit, 10*time.Second)
	c.LockFor = cmp.Or(c.LockFor, 3*time.Second)
	c.RedisLimit = cmp.Or(c.RedisLimit, 200*time.Millisecond)
	c.RedisRest = cmp.Or(c.RedisRest, time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

var named = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// Validate tells what is wrong with a Config whose defaults are filled in.
func (c Config[K, V]) Validate() error {
	if !named.MatchString(c.Name) {
		return fmt.Errorf("a cache cannot be called %q", c.Name)
	}
	for _, d := range []time.Duration{c.FirstTTL, c.SecondTTL, c.AbsentTTL, c.LoadLimit, c.LockFor, c.RedisLimit, c.RedisRest} {
		if d < time.Millisecond {
			return fmt.Errorf("cache %s: a time of %v is under a millisecond", c.Name, d)
		}
	}
	if c.Size < 0 || c.Schema < 0 {
		return fmt.Errorf("cache %s: size and schema are not negative", c.Name)
	}
	if c.Load == nil {
		return fmt.Errorf("cache %s has no Load", c.Name)
	}
	if c.Redis == nil {
		return nil
	}
	if c.Keys.Text == nil || c.Keys.Parse == nil || c.Values.Encode == nil || c.Values.Decode == nil {
		return fmt.Errorf("cache %s cannot write its keys and values to Redis", c.Name)
	}
	if !obeys(c.Redis) {
		return fmt.Errorf("cache %s: the Redis client has no ContextTimeoutEnabled, so a call's limit would not hold", c.Name)
	}
	return nil
}

// obeys reports whether the client's calls end with their context.
func obeys(client redis.UniversalClient) bool {
	switch client := client.(type) {
	case *redis.Client:
		return client.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return client.Options().ContextTimeoutEnabled
	default:
		return false
	}
}

// jittered gives d, by up to Jitter longer or shorter.
func (c Config[K, V]) jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + Jitter*(2*c.Random()-1)))
}
