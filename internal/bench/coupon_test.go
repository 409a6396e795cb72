package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/internal/testdb"
)

func noDelay(context.Context, time.Duration) error { return nil }

func TestTheCouponLadderTellsWhatItAsked(t *testing.T) {
	const products, rules, calls = 40, 8, 3
	for _, url := range []string{"", testdb.Redis(t)} {
		var notes []string
		c := CouponConfig{RedisURL: url, Products: products, Rules: rules, Calls: calls, RTT: time.Millisecond}
		r, err := runCoupon(t.Context(), c, func(what string) { notes = append(notes, what) }, noDelay)
		if err != nil {
			t.Fatal(err)
		}
		// A product asks whether it is excluded, what is left of two rules, and what is held by two, for itself and for all.
		asked := float64(products * (1 + 2 + 2*2))
		want := []CouponStep{{Rung: 1, Commands: asked, Trips: asked}, {Rung: 2, Commands: 3, Trips: 1}, {Rung: 3, Commands: 3, Trips: 1}}
		if diff := cmp.Diff(want, r.Ladder, cmpopts.IgnoreFields(CouponStep{}, "Name", "MeanMillis", "P95Millis", "CPUMillis", "TimesFaster")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var b strings.Builder
		if err := r.Print(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"40 products by 8 rules", "| 1 | a question for each product and rule |", "| 2 | + all in one pipeline |", ": the product |"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in\n%s", want, b.String())
			}
		}
		if len(notes) != 3 {
			t.Errorf("notes %v", notes)
		}
		if url == "" {
			continue
		}
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(options)
		defer client.Close()
		if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("%d keys are left, %v", n, err)
		}
	}
}

func TestTheCouponBenchRefuses(t *testing.T) {
	right := CouponConfig{Products: 1, Rules: 1, Calls: 1}
	for flag, change := range map[string]func(*CouponConfig){
		"--products":  func(c *CouponConfig) { c.Products = coupon.MaxProducts + 1 },
		"--rules":     func(c *CouponConfig) { c.Rules = 0 },
		"--calls":     func(c *CouponConfig) { c.Calls = MaxCalls + 1 },
		"--rtt":       func(c *CouponConfig) { c.RTT = -1 },
		"--redis-url": func(c *CouponConfig) { c.RedisURL = "http://u:hunter2@h" },
	} {
		c := right
		change(&c)
		_, err := Coupon(t.Context(), c, func(string) {})
		if err == nil || !strings.Contains(err.Error(), flag) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestTheLoopAnswersWhatTheDelayEnds(t *testing.T) {
	c := CouponConfig{Products: 3, Rules: 3, Calls: 1, RTT: time.Second}
	_, err := runCoupon(t.Context(), c, func(string) {}, func(context.Context, time.Duration) error { return context.DeadlineExceeded })
	if err == nil || !strings.Contains(err.Error(), "rung 1") {
		t.Errorf("%v", err)
	}
}

// memory is rules and facts of which every case has its own.
type memory struct {
	rules []coupon.Rule
	facts coupon.Fresh
}

func (m memory) Rules(context.Context, time.Time, time.Time, string) (coupon.Book, error) {
	return coupon.Book{Rules: m.rules, Versions: coupon.Versions{Excluded: m.facts.Excluded.Version, Left: m.facts.Left.Version, Held: m.facts.Held.Version}}, nil
}
func (m memory) Excluded(context.Context) (coupon.ExcludedFacts, error) {
	return *m.facts.Excluded, nil
}
func (m memory) Left(context.Context, []int64) (coupon.LeftFacts, error) { return *m.facts.Left, nil }
func (m memory) Held(context.Context, string) (coupon.HeldFacts, error)  { return *m.facts.Held, nil }

func randomMemory(r *rand.Rand, version string, at time.Time) (m memory, items []coupon.Item) {
	excluded, left := &coupon.ExcludedFacts{Version: version}, &coupon.LeftFacts{Version: version, Left: map[int64]int64{}}
	held := &coupon.HeldFacts{Version: version, Owner: coupon.OwnerOf(couponUser), Held: map[int64][]int64{}}
	for id := range int64(1 + r.IntN(8)) {
		rule := coupon.Rule{ID: id + 1, Code: fmt.Sprint("C", id), Kind: coupon.Rate, Value: 1 + r.Int64N(coupon.MaxRate), From: at.Add(time.Duration(r.IntN(5)-3) * time.Hour), HeldOnly: r.IntN(3) == 0}
		rule.Until = rule.From.Add(time.Duration(1+r.IntN(4)) * time.Hour)
		if r.IntN(2) == 0 {
			rule.Currency, rule.Minimum = []string{"EUR", "KRW"}[r.IntN(2)], r.Int64N(300_00)
			if r.IntN(2) == 0 {
				rule.Kind = coupon.Fixed
			} else {
				rule.Cap = r.Int64N(50_00)
			}
		}
		if r.IntN(3) == 0 {
			rule.Stock = 1 + r.Int64N(5)
			left.Left[rule.ID] = r.Int64N(rule.Stock + 1)
		}
		if r.IntN(6) == 0 {
			held.Held[coupon.EveryProduct] = append(held.Held[coupon.EveryProduct], rule.ID)
		}
		m.rules = append(m.rules, rule)
	}
	r.Shuffle(len(m.rules), func(i, j int) { m.rules[i], m.rules[j] = m.rules[j], m.rules[i] })
	for id := range int64(1 + r.IntN(6)) {
		if r.IntN(5) == 0 {
			excluded.Products = append(excluded.Products, id+1)
		}
		for _, rule := range m.rules {
			if r.IntN(4) == 0 {
				held.Held[id+1] = append(held.Held[id+1], rule.ID)
			}
		}
		items = append(items, coupon.Item{Product: id + 1, Minor: r.Int64N(400_00), Currency: []string{"EUR", "EUR", "KRW"}[r.IntN(3)]})
	}
	m.facts = coupon.Fresh{Excluded: excluded, Left: left, Held: held}
	return m, items
}

// All rungs give the same answers, whatever the rules, the facts and the prices.
func TestTheLoopAndTheBatchAgree(t *testing.T) {
	options, err := redis.ParseURL(testdb.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	copies := couponredis.New(client, callTimeout)
	best := 0
	for seed := range uint64(2500) {
		m, items := randomMemory(rand.New(rand.NewPCG(seed, 4)), fmt.Sprint(seed), at)
		user := couponUser
		if seed%10 == 0 {
			user = ""
		}
		if err := copies.Write(t.Context(), m.facts); err != nil {
			t.Fatal(err)
		}
		want, err := couponLoop{m, client}.Prices(t.Context(), user, at, items)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, workers := range []int{1, 4} {
			got, err := coupon.NewService(coupon.Config{Store: m, Copies: copies, Workers: workers}).Prices(t.Context(), user, at, items)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d (-loop +batch):\n%s", seed, diff)
			}
		}
		for _, o := range want {
			if o.Best != nil {
				best++
			}
		}
	}
	if best < 1000 {
		t.Errorf("only %d prices were lowered", best)
	}
}
