package bench

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/internal/embedded"
)

// couponLoop asks Redis for each product and rule, as the story's beginning does. Nobody
// but the bench has it: it takes every copy for whole.
type couponLoop struct {
	store coupon.Store
	redis redis.Cmdable
}

// Prices implements Prices.
func (l couponLoop) Prices(ctx context.Context, user string, at time.Time, items []coupon.Item) ([]coupon.Offer, error) {
	owner := coupon.OwnerOf(user)
	book, err := l.store.Rules(ctx, at.Add(-coupon.WhyWithin), at.Add(coupon.WhyWithin), owner)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(book.Rules, func(a, b coupon.Rule) int { return int(a.ID - b.ID) })
	var offers []coupon.Offer
	for _, item := range items {
		offer := coupon.Offer{Item: item}
		excluded, err := l.redis.SIsMember(ctx, couponredis.KeyExcluded, item.Product).Result()
		if err != nil {
			return nil, err
		}
		for _, rule := range book.Rules {
			e := coupon.Eligibility{Excluded: map[int64]bool{item.Product: excluded}}
			if err := l.ask(ctx, owner, item.Product, rule, &e); err != nil {
				return nil, err
			}
			better(&offer, coupon.Best([]coupon.Rule{rule}, e, item, at))
		}
		offers = append(offers, offer)
	}
	return offers, nil
}

// ask asks what the rule hangs on.
func (l couponLoop) ask(ctx context.Context, owner string, product int64, rule coupon.Rule, e *coupon.Eligibility) error {
	if rule.Stock > 0 {
		left, err := l.redis.HGet(ctx, couponredis.KeyStock, strconv.FormatInt(rule.ID, 10)).Int64()
		if err != nil {
			return err
		}
		e.Left = map[int64]int64{rule.ID: left}
	}
	if !rule.HeldOnly || owner == "" {
		return nil
	}
	e.Held = map[int64][]int64{}
	for _, of := range []int64{product, coupon.EveryProduct} {
		held, err := l.redis.HGet(ctx, couponredis.KeyEligible(owner), strconv.FormatInt(of, 10)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if slices.Contains(strings.Split(held, ","), strconv.FormatInt(rule.ID, 10)) {
			e.Held[of] = []int64{rule.ID}
		}
	}
	return nil
}

// better takes in what one more rule, of a higher id, makes of the item.
func better(all *coupon.Offer, one coupon.Offer) {
	all.Refused = append(all.Refused, one.Refused...)
	if one.Best != nil && (all.Best == nil || one.Best.Minor < all.Best.Minor) {
		all.Best = one.Best
	}
}

// redisLine is the way to a Redis. It counts what goes over it and holds each round trip
// up as a network would, where the client sends it; a pipeline is one.
type redisLine struct {
	client          *redis.Client
	server          *embedded.Redis // nil if it is somebody else's
	wait            func(ctx context.Context, d time.Duration) error
	delay           atomic.Int64 // nanoseconds a trip
	trips, commands atomic.Int64
}

func openRedisLine(url string, wait func(context.Context, time.Duration) error) (l *redisLine, err error) {
	l = &redisLine{wait: wait}
	if url == "" {
		if l.server, err = embedded.StartRedis(); err != nil {
			return nil, err
		}
		url = l.server.URL()
	}
	options, err := redis.ParseURL(url)
	if err != nil { // which would repeat a password
		return nil, errors.New("--redis-url: is not a Redis URL, as redis://[user:password@]host:port[/db]")
	}
	options.ContextTimeoutEnabled = true
	l.client = redis.NewClient(options)
	l.client.AddHook(l)
	return l, nil
}

// close takes away the copies that the bench has made.
func (l *redisLine) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	l.delay.Store(0)
	var errs []error
	for _, key := range []string{couponredis.KeyExcluded, couponredis.KeyStock, couponredis.KeyEligible(coupon.OwnerOf(couponUser))} {
		errs = append(errs, l.client.Del(ctx, key).Err())
	}
	errs = append(errs, l.client.Close())
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(errs...)
}

// greetings are what a client says on a new connection: no part of a question.
var greetings = []string{"hello", "client", "auth", "select"}

func (l *redisLine) pass(ctx context.Context, commands ...redis.Cmder) error {
	if slices.Contains(greetings, commands[0].Name()) {
		return nil
	}
	l.trips.Add(1)
	l.commands.Add(int64(len(commands)))
	if d := time.Duration(l.delay.Load()); d > 0 {
		return l.wait(ctx, d)
	}
	return nil
}

// DialHook leaves the dialing as it is.
func (l *redisLine) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook sees a command alone.
func (l *redisLine) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := l.pass(ctx, cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook sees commands that go together.
func (l *redisLine) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := l.pass(ctx, cmds...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}
