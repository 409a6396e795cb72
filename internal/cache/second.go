package cache

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// tier is what the second tier needs of a Config.
type tier struct {
	redis                        redis.UniversalClient
	name, prefix                 string
	staleFor, lockFor, loadLimit time.Duration
	life                         time.Duration // no value is in Redis for longer
	limit, rest                  time.Duration
	log                          *slog.Logger
}

func (c Config[K, V]) tier() tier {
	longest := max(c.SecondTTL+c.StaleFor, c.AbsentTTL)
	return tier{
		redis: c.Redis, name: c.Name, prefix: fmt.Sprintf("rowmill:cache:v%d:%s:", c.Schema, c.Name),
		staleFor: c.StaleFor, lockFor: c.LockFor, loadLimit: c.LoadLimit, life: longest + longest/5 + c.LoadLimit,
		limit: c.RedisLimit, rest: c.RedisRest, log: c.Log,
	}
}

// second is the tier in Redis: what it holds, by texts of keys.
type second struct {
	tier
	process string // tells our messages from those of others
	breaker *gobreaker.CircuitBreaker[any]
	counts  *counts
	debts   debts
}

func newSecond(t tier, counts *counts) *second {
	s := &second{tier: t, process: rand.Text(), counts: counts, debts: debts{wake: make(chan struct{}, 1), by: map[string]debt{}}}
	s.breaker = gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		Name:    t.name,
		Timeout: t.rest,
		// One is enough: the client has tried again by itself, within the limit.
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 1 },
		IsExcluded:  func(err error) bool { return errors.Is(err, errLeft) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				t.log.Warn("Redis does not answer; the cache goes on without it.", "cache", t.name)
			case gobreaker.StateClosed:
				t.log.Info("Redis answers the cache again.", "cache", t.name)
			case gobreaker.StateHalfOpen: // one call is tried
			}
		},
	})
	return s
}

// errLeft marks a call that ended since its caller went, which says nothing of Redis.
var errLeft = errors.New("the caller's time is over")

// do calls Redis within the limit, unless it rests.
func (s *second) do(ctx context.Context, call func(context.Context) (any, error)) (any, error) {
	got, err := s.breaker.Execute(func() (any, error) {
		limited, cancel := context.WithTimeout(ctx, s.limit)
		defer cancel()
		got, err := call(limited)
		if err != nil && over(ctx) {
			return nil, fmt.Errorf("%w: %w", errLeft, err)
		}
		return got, err
	})
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		s.counts.add(Bypass)
	case err != nil && !errors.Is(err, errLeft):
		s.counts.add(RedisError)
	}
	return got, err
}

// over reports whether ctx has ended; a connection's deadline may fire just before
// the context that it comes from does.
func over(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

func (s *second) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	return s.do(ctx, func(ctx context.Context) (any, error) { return script.Run(ctx, s.redis, keys, args...).Result() })
}

// lease is a flight's place in a generation of a key, and the token of its lock.
// The zero lease has none: nothing is stored under it.
type lease struct {
	text, token, generation string
}

func (s *second) lease(text, token string) lease { return lease{text: text, token: token} }

// keys gives the names of the key's value, generation and lock.
func (s *second) keys(text string) []string {
	value := s.prefix + "{" + tagged(text) + "}"
	return []string{value, value + ":gen", value + ":lock"}
}

var escape = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// tagged gives the text as a hash tag: without braces and not empty, or a
// cluster would put the three names into different slots.
func tagged(text string) string {
	if text == "" {
		return "%"
	}
	return escape.Replace(text)
}

// What begin may find.
const (
	stateFresh  = "fresh"  // a value that needs no load
	stateOurs   = "ours"   // the lock is ours
	stateTheirs = "theirs" // another flight has the lock
)

// answer is what begin found: a payload ("" if none), how long Redis will keep
// it and, where it is not fresh, the key's generation.
type answer struct {
	state, payload, generation string
	left                       time.Duration
}

var errAnswer = errors.New("Redis gave an answer of another form")

// begin looks for the key's value and takes its lock where there is no fresh one.
func (s *second) begin(ctx context.Context, l lease) (answer, error) {
	if s.debts.has(l.text) {
		s.counts.add(Bypass)
		return answer{}, errOwed
	}
	generationFor := 2*s.loadLimit + s.lockFor
	got, err := s.run(ctx, beginScript, s.keys(l.text), s.staleFor.Milliseconds(), l.token, s.lockFor.Milliseconds(),
		number(), generationFor.Milliseconds())
	if err != nil {
		return answer{}, err
	}
	parts, ok := got.([]any)
	if !ok || len(parts) != 4 {
		return answer{}, errAnswer
	}
	state, isText := parts[0].(string)
	payload, isPayload := parts[1].(string)
	left, isNumber := parts[2].(int64)
	generation, isGeneration := parts[3].(string)
	if !isText || !isPayload || !isNumber || !isGeneration {
		return answer{}, errAnswer
	}
	return answer{state: state, payload: payload, left: time.Duration(left) * time.Millisecond, generation: generation}, nil
}

// store puts the payload, if the lease's generation lives, and gives the lock
// back.
func (s *second) store(ctx context.Context, l lease, payload []byte, ttl time.Duration) fate {
	if l.generation == "" {
		return unsettled
	}
	got, err := s.run(ctx, storeScript, s.keys(l.text), l.generation, payload, ttl.Milliseconds(), l.token)
	switch {
	case err != nil:
		return unsettled
	case got == int64(1):
		return confirmed
	default:
		return outdated
	}
}

// release gives the lock back, so that others need not wait for its end.
func (s *second) release(ctx context.Context, l lease) {
	if l.generation != "" {
		_, _ = s.run(ctx, releaseScript, s.keys(l.text), l.token) // counted; the lock ends by itself
	}
}

// discard removes a payload that cannot be read.
func (s *second) discard(ctx context.Context, l lease, payload string) {
	_, _ = s.run(ctx, discardScript, s.keys(l.text)[:1], payload) // counted; it is overwritten or ends by itself
}

// number gives a generation that there has not been.
func number() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatUint(binary.BigEndian.Uint64(b[:]), 10)
}
