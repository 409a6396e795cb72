package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/repository"
)

// CouponConfig says how to measure coupon prices. Nothing has a default here.
type CouponConfig struct {
	RedisURL string        // "": a Redis inside this process
	Products int           // of a question, 1 to coupon.MaxProducts
	Rules    int           // that may apply, 1 to coupon.MaxRules
	Calls    int           // questions of each rung, 1 to MaxCalls
	RTT      time.Duration // added to each round trip to Redis, up to MaxDelay
}

// MaxCalls is the most questions of a rung.
const MaxCalls = 10_000

// Validate gives everything that is wrong, each with the flag's name.
func (c CouponConfig) Validate() error {
	var errs []error
	for _, n := range []struct {
		flag  string
		v, up int
	}{{"products", c.Products, coupon.MaxProducts}, {"rules", c.Rules, coupon.MaxRules}, {"calls", c.Calls, MaxCalls}} {
		if n.v < 1 || n.v > n.up {
			errs = append(errs, fmt.Errorf("--%s: %d is not between 1 and %d", n.flag, n.v, n.up))
		}
	}
	if c.RTT < 0 || c.RTT > MaxDelay {
		errs = append(errs, fmt.Errorf("--rtt: %v is not between 0s and %v", c.RTT, MaxDelay))
	}
	return errors.Join(errs...)
}

// Prices is what each rung answers: coupon.Service does, and the loop.
type Prices interface {
	Prices(ctx context.Context, user string, at time.Time, items []coupon.Item) ([]coupon.Offer, error)
}

const couponUser = "bench"

// Coupon measures the prices of coupons, a rung after the other on the same data. note,
// which may not be nil, is told what is being done.
func Coupon(ctx context.Context, c CouponConfig, note func(what string)) (CouponReport, error) {
	return runCoupon(ctx, c, note, pause)
}

func runCoupon(ctx context.Context, c CouponConfig, note func(what string), wait func(context.Context, time.Duration) error) (report CouponReport, err error) {
	if err := c.Validate(); err != nil {
		return CouponReport{}, err
	}
	dir, err := os.MkdirTemp("", "rowmill-bench-*")
	if err != nil {
		return CouponReport{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := repository.Open(ctx, repository.Config{Path: filepath.Join(dir, "bench.sqlite")})
	if err != nil {
		return CouponReport{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	at := time.Now()
	store := repository.NewCoupons(db)
	if err := db.Migrate(ctx); err != nil {
		return CouponReport{}, err
	}
	if err := store.Put(ctx, couponSet(c, at)); err != nil {
		return CouponReport{}, err
	}
	facts, err := openRedisLine(c.RedisURL, wait)
	if err != nil {
		return CouponReport{}, err
	}
	defer func() { err = errors.Join(err, facts.close(ctx)) }()
	copies := couponredis.New(facts.client, callTimeout)
	one := coupon.NewService(coupon.Config{Store: store, Copies: copies, Workers: 1})
	rungs := []couponRung{
		{"a question for each product and rule", couponLoop{store, facts.client}},
		{"+ all in one pipeline", one},
		{fmt.Sprintf("+ computed on %d cores: the product", encoders()), coupon.NewService(coupon.Config{Store: store, Copies: copies})},
	}
	if _, err := one.Prices(ctx, couponUser, at, couponItems(c.Products)); err != nil { // makes the copies
		return CouponReport{}, err
	}
	facts.delay.Store(int64(c.RTT))
	b := couponBench{c, facts, at, note}
	return b.climb(ctx, rungs)
}

type couponRung struct {
	name   string
	prices Prices
}

type couponBench struct {
	cfg   CouponConfig
	facts *redisLine
	at    time.Time
	note  func(what string)
}

// climb measures each rung and holds their answers against each other.
func (b couponBench) climb(ctx context.Context, rungs []couponRung) (CouponReport, error) {
	r := newCouponReport(b.cfg)
	var first []coupon.Offer
	for i, rung := range rungs {
		b.note(rung.name)
		step, offers, err := b.measure(ctx, rung)
		if err != nil {
			return CouponReport{}, fmt.Errorf("rung %d, %s: %w", i+1, rung.name, err)
		}
		if i == 0 {
			first = offers
		}
		if !reflect.DeepEqual(offers, first) {
			return CouponReport{}, fmt.Errorf("rung %d answers something else than rung 1", i+1)
		}
		step.Rung = i + 1
		r.Ladder = append(r.Ladder, step)
	}
	for i := range r.Ladder {
		r.Ladder[i].TimesFaster = r.Ladder[0].MeanMillis / r.Ladder[i].MeanMillis
	}
	return r, nil
}

// measure asks as often as it should; every answer of the rung is the same.
func (b couponBench) measure(ctx context.Context, rung couponRung) (step CouponStep, offers []coupon.Offer, err error) {
	items := couponItems(b.cfg.Products)
	took := make([]time.Duration, b.cfg.Calls)
	trips, commands := b.facts.trips.Load(), b.facts.commands.Load()
	cost, err := measure(func() error {
		for i := range took {
			start := time.Now()
			got, err := rung.prices.Prices(ctx, couponUser, b.at, items)
			took[i] = time.Since(start)
			if err != nil {
				return err
			}
			if i > 0 && !reflect.DeepEqual(got, offers) {
				return errors.New("two answers differ")
			}
			offers = got
		}
		return nil
	})
	if err != nil {
		return CouponStep{}, nil, err
	}
	calls := float64(b.cfg.Calls)
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	slices.Sort(took)
	return CouponStep{
		Name: rung.name, MeanMillis: millis(sum) / calls, P95Millis: millis(took[(len(took)*95+99)/100-1]), CPUMillis: millis(cost.CPU) / calls,
		Commands: float64(b.facts.commands.Load()-commands) / calls, Trips: float64(b.facts.trips.Load()-trips) / calls,
	}, offers, nil
}

// couponSet makes rules of every kind, half of which hang on facts.
func couponSet(c CouponConfig, at time.Time) (set coupon.Set) {
	owner := coupon.OwnerOf(couponUser)
	for n := range int64(c.Rules) {
		r := coupon.Rule{ID: n + 1, Code: fmt.Sprintf("BENCH%d", n+1), Kind: coupon.Rate, Value: 100 + 37*n, From: at.Add(-time.Hour), Until: at.Add(time.Hour)}
		switch n % 4 {
		case 1:
			r.Stock = 1 + n
		case 2:
			r.HeldOnly = true
		case 3:
			r.Kind, r.Value, r.Currency, r.Minimum = coupon.Fixed, 1_00+n*25, "EUR", 50_00
		}
		set.Rules = append(set.Rules, r)
	}
	for id := int64(1); id <= int64(c.Products); id++ {
		switch {
		case id%11 == 0:
			set.Excluded = append(set.Excluded, id)
		case id%3 == 0 && c.Rules > 2:
			set.Holders = append(set.Holders, coupon.Holder{Owner: owner, Product: id, Rule: 3})
		}
	}
	return set
}

func couponItems(n int) []coupon.Item {
	items := make([]coupon.Item, n)
	for i := range items {
		items[i] = coupon.Item{Product: int64(i) + 1, Minor: int64(i*7919%400_00) + 1_00, Currency: "EUR"}
	}
	return items
}
