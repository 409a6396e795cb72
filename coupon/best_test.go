package coupon_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/coupon"
)

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	begun = noon.Add(-time.Hour)
	ended = noon.Add(time.Hour)
)

// rule is in force at noon.
func rule(id int64, change func(*coupon.Rule)) coupon.Rule {
	r := coupon.Rule{ID: id, Code: fmt.Sprintf("CODE%d", id), Kind: coupon.Rate, Value: 1000, From: begun, Until: ended}
	if change != nil {
		change(&r)
	}
	return r
}

func TestBestOfOneRule(t *testing.T) {
	eur := func(minor int64) coupon.Item { return coupon.Item{Product: 7, Minor: minor, Currency: "EUR"} }
	fixed := func(value int64) func(*coupon.Rule) {
		return func(r *coupon.Rule) { r.Kind, r.Value, r.Currency = coupon.Fixed, value, "EUR" }
	}
	tests := []struct {
		name   string
		change func(*coupon.Rule)
		item   coupon.Item
		facts  coupon.Eligibility
		at     time.Time
		off    int64 // 0: not cheaper
		reason coupon.Reason
	}{
		{name: "a rate", item: eur(120_00), off: 12_00},
		{name: "a rate rounds half up", item: eur(5), off: 1},
		{name: "a rate rounds down below the half", item: eur(4)},
		{name: "a rate of all", change: func(r *coupon.Rule) { r.Value = coupon.MaxRate }, item: eur(1), off: 1},
		{name: "a rate of the least", change: func(r *coupon.Rule) { r.Value = 1 }, item: eur(49_99)},
		{name: "a rate of the largest price", change: func(r *coupon.Rule) { r.Value = coupon.MaxRate }, item: eur(coupon.MaxMinor), off: coupon.MaxMinor},
		{name: "a rate in any currency", item: coupon.Item{Product: 7, Minor: 12345, Currency: "KRW"}, off: 1235},
		{name: "below the cap", change: func(r *coupon.Rule) { r.Cap, r.Currency = 12_01, "EUR" }, item: eur(120_00), off: 12_00},
		{name: "at the cap", change: func(r *coupon.Rule) { r.Cap, r.Currency = 5_01, "EUR" }, item: eur(120_00), off: 5_01},
		{name: "an amount", change: fixed(15_00), item: eur(120_00), off: 15_00},
		{name: "an amount of the price", change: fixed(120_00), item: eur(120_00), off: 120_00},
		{name: "an amount above the price", change: fixed(200_00), item: eur(120_00), off: 120_00},
		{name: "nothing is off nothing", change: fixed(1), item: eur(0)},
		{name: "at the minimum", change: func(r *coupon.Rule) { r.Minimum, r.Currency = 100_00, "EUR" }, item: eur(100_00), off: 10_00},
		{name: "below the minimum", change: func(r *coupon.Rule) { r.Minimum, r.Currency = 100_00, "EUR" }, item: eur(99_99), reason: coupon.BelowMinimum},
		{name: "another currency", change: fixed(1), item: coupon.Item{Product: 7, Minor: 100, Currency: "USD"}, reason: coupon.OtherCurrency},
		{name: "as the window begins", item: eur(100), at: begun, off: 10},
		{name: "before the window", item: eur(100), at: begun.Add(-time.Nanosecond), reason: coupon.NotYet},
		{name: "just before the window ends", item: eur(100), at: ended.Add(-time.Nanosecond), off: 10},
		{name: "as the window ends", item: eur(100), at: ended, reason: coupon.Over},
		{name: "an excluded product", item: eur(100), facts: coupon.Eligibility{Excluded: map[int64]bool{7: true}}, reason: coupon.ExcludedProduct},
		{name: "another excluded product", item: eur(100), facts: coupon.Eligibility{Excluded: map[int64]bool{8: true}}, off: 10},
		{name: "not held", change: func(r *coupon.Rule) { r.HeldOnly = true }, item: eur(100), reason: coupon.NotEligible},
		{name: "held for another product", change: func(r *coupon.Rule) { r.HeldOnly = true }, item: eur(100), facts: coupon.Eligibility{Held: map[int64][]int64{8: {1}}}, reason: coupon.NotEligible},
		{name: "another rule held", change: func(r *coupon.Rule) { r.HeldOnly = true }, item: eur(100), facts: coupon.Eligibility{Held: map[int64][]int64{7: {2, 3}}}, reason: coupon.NotEligible},
		{name: "held for the product", change: func(r *coupon.Rule) { r.HeldOnly = true }, item: eur(100), facts: coupon.Eligibility{Held: map[int64][]int64{7: {2, 1}}}, off: 10},
		{name: "held for every product", change: func(r *coupon.Rule) { r.HeldOnly = true }, item: eur(100), facts: coupon.Eligibility{Held: map[int64][]int64{coupon.EveryProduct: {1}}}, off: 10},
		{name: "the last one left", change: func(r *coupon.Rule) { r.Stock = 5 }, item: eur(100), facts: coupon.Eligibility{Left: map[int64]int64{1: 1}}, off: 10},
		{name: "none left", change: func(r *coupon.Rule) { r.Stock = 5 }, item: eur(100), facts: coupon.Eligibility{Left: map[int64]int64{1: 0}}, reason: coupon.OutOfStock},
		{name: "what is left is not known", change: func(r *coupon.Rule) { r.Stock = 5 }, item: eur(100), reason: coupon.OutOfStock},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := rule(1, test.change)
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
			if test.at.IsZero() {
				test.at = noon
			}
			want := coupon.Offer{Item: test.item}
			if test.off > 0 {
				want.Best = &coupon.Applied{Rule: 1, Code: "CODE1", Minor: test.item.Minor - test.off, Discount: test.off}
			}
			if test.reason != "" {
				want.Refused = []coupon.Refusal{{Rule: 1, Reason: test.reason}}
			}
			if diff := cmp.Diff(want, coupon.Best([]coupon.Rule{r}, test.facts, test.item, test.at)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The first reason that holds is told: each row adds one that comes before the others.
func TestTheFirstReasonIsTold(t *testing.T) {
	r := rule(1, func(r *coupon.Rule) { r.Stock, r.Minimum, r.Currency, r.HeldOnly = 1, 100, "EUR", true })
	held := map[int64][]int64{7: {1}}
	steps := []struct {
		want  coupon.Reason
		item  coupon.Item
		facts coupon.Eligibility
		at    time.Time
	}{
		{coupon.OutOfStock, coupon.Item{Product: 7, Minor: 100, Currency: "EUR"}, coupon.Eligibility{Held: held}, noon},
		{coupon.BelowMinimum, coupon.Item{Product: 7, Minor: 99, Currency: "EUR"}, coupon.Eligibility{Held: held}, noon},
		{coupon.OtherCurrency, coupon.Item{Product: 7, Minor: 99, Currency: "USD"}, coupon.Eligibility{Held: held}, noon},
		{coupon.Over, coupon.Item{Product: 7, Minor: 99, Currency: "USD"}, coupon.Eligibility{Held: held}, ended},
		{coupon.NotYet, coupon.Item{Product: 7, Minor: 99, Currency: "USD"}, coupon.Eligibility{Held: held}, begun.Add(-1)},
		{coupon.NotEligible, coupon.Item{Product: 7, Minor: 99, Currency: "USD"}, coupon.Eligibility{}, ended},
		{coupon.ExcludedProduct, coupon.Item{Product: 7, Minor: 99, Currency: "USD"}, coupon.Eligibility{Excluded: map[int64]bool{7: true}}, ended},
	}
	for _, s := range steps {
		got := coupon.Best([]coupon.Rule{r}, s.facts, s.item, s.at)
		if diff := cmp.Diff([]coupon.Refusal{{Rule: 1, Reason: s.want}}, got.Refused); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestOfEqualPricesTheLowestRuleIsBest(t *testing.T) {
	rules := []coupon.Rule{rule(3, nil), rule(2, nil), rule(9, func(r *coupon.Rule) { r.Value = 999 })}
	got := coupon.Best(rules, coupon.Eligibility{}, coupon.Item{Product: 1, Minor: 100_00, Currency: "EUR"}, noon)
	if got.Best == nil || got.Best.Rule != 2 || got.Refused != nil {
		t.Errorf("%+v", got)
	}
}

// randomCase makes rules and facts in which every reason comes about.
func randomCase(r *rand.Rand) (rules []coupon.Rule, e coupon.Eligibility, items []coupon.Item) {
	e = coupon.Eligibility{Excluded: map[int64]bool{}, Held: map[int64][]int64{}, Left: map[int64]int64{}}
	for id := range int64(1 + r.IntN(8)) {
		rules = append(rules, randomRule(r, id+1, &e))
	}
	r.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	for id := range int64(1 + r.IntN(6)) {
		item := coupon.Item{Product: id + 1, Minor: r.Int64N(400_00), Currency: []string{"EUR", "KRW"}[r.IntN(2)]}
		if r.IntN(20) == 0 {
			item.Minor = coupon.MaxMinor - r.Int64N(10)
		}
		if r.IntN(6) == 0 {
			e.Excluded[item.Product] = true
		}
		for _, rule := range rules {
			if r.IntN(4) == 0 {
				e.Held[item.Product] = append(e.Held[item.Product], rule.ID)
			}
		}
		items = append(items, item)
	}
	return rules, e, items
}

func randomRule(r *rand.Rand, id int64, e *coupon.Eligibility) coupon.Rule {
	c := rule(id, func(c *coupon.Rule) {
		c.Value, c.HeldOnly = 1+r.Int64N(coupon.MaxRate), r.IntN(3) == 0
		if r.IntN(2) == 0 {
			c.Currency = []string{"EUR", "KRW"}[r.IntN(2)]
			c.Minimum = r.Int64N(300_00)
			if c.Kind = []coupon.Kind{coupon.Rate, coupon.Fixed}[r.IntN(2)]; c.Kind == coupon.Rate {
				c.Cap = r.Int64N(100_00)
			}
		}
		switch r.IntN(6) {
		case 0:
			c.From, c.Until = noon.Add(1), ended
		case 1:
			c.From, c.Until = begun, noon
		}
	})
	if r.IntN(3) == 0 {
		c.Stock = 1 + r.Int64N(9)
		e.Left[id] = r.Int64N(c.Stock + 1)
	}
	if r.IntN(8) == 0 {
		e.Held[coupon.EveryProduct] = append(e.Held[coupon.EveryProduct], id)
	}
	return c
}

// exactly is what a rule would make of a price with rational numbers; at is the price
// before rounding.
func exactly(r coupon.Rule, minor int64) *big.Rat {
	price := new(big.Rat).SetInt64(minor)
	off := new(big.Rat).SetInt64(r.Value)
	if r.Kind == coupon.Rate {
		off = new(big.Rat).Mul(price, big.NewRat(r.Value, coupon.MaxRate))
		if limit := new(big.Rat).SetInt64(r.Cap); r.Cap > 0 && off.Cmp(limit) > 0 {
			off = limit
		}
	}
	if off.Cmp(price) > 0 {
		off = price
	}
	return new(big.Rat).Sub(price, off)
}

func TestBestIsTheLeastPriceOfWhatApplies(t *testing.T) {
	half := big.NewRat(1, 2)
	reasons := map[coupon.Reason]int{}
	for seed := range uint64(3000) {
		rules, e, items := randomCase(rand.New(rand.NewPCG(seed, 1)))
		for _, item := range items {
			got := coupon.Best(rules, e, item, noon)
			refused := map[int64]bool{}
			for _, x := range got.Refused {
				refused[x.Rule] = true
				reasons[x.Reason]++
			}
			paid := item.Minor
			if b := got.Best; b != nil {
				paid = b.Minor
				if b.Minor < 0 || b.Discount < 1 || b.Minor+b.Discount != item.Minor || refused[b.Rule] {
					t.Fatalf("seed %d: %+v", seed, got)
				}
			}
			for _, r := range rules {
				if refused[r.ID] {
					continue
				}
				alone := coupon.Best([]coupon.Rule{r}, e, item, noon)
				price := item.Minor
				if alone.Best != nil {
					price = alone.Best.Minor
				}
				if paid > price {
					t.Fatalf("seed %d: %d is paid, and rule %d makes %d", seed, paid, r.ID, price)
				}
				// Never more than half a unit above the exact price, or more than that below.
				if d := new(big.Rat).Sub(new(big.Rat).SetInt64(price), exactly(r, item.Minor)); d.Cmp(half) >= 0 || d.Cmp(new(big.Rat).Neg(half)) < 0 {
					t.Fatalf("seed %d: rule %+v makes %d of %d, %s off", seed, r, price, item.Minor, d)
				}
				if r.Kind == coupon.Rate && r.Cap > 0 && item.Minor-price > r.Cap || item.Minor < r.Minimum {
					t.Fatalf("seed %d: rule %+v takes %d off %d", seed, r, item.Minor-price, item.Minor)
				}
			}
			if len(got.Refused) != len(refused) || !slices.IsSortedFunc(got.Refused, func(a, b coupon.Refusal) int { return int(a.Rule - b.Rule) }) {
				t.Fatalf("seed %d: refused %v", seed, got.Refused)
			}
		}
	}
	if len(reasons) != 7 {
		t.Errorf("not every reason came about: %v", reasons)
	}
}

func TestTheOrderOfRulesDoesNotMatter(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		rules, e, items := randomCase(r)
		want := coupon.Offers(rules, e, items, noon, 1)
		r.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		if diff := cmp.Diff(want, coupon.Offers(rules, e, items, noon, 1)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestManyWorkersGiveWhatOneGives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var rules []coupon.Rule
	e := coupon.Eligibility{Excluded: map[int64]bool{3: true}, Held: map[int64][]int64{}, Left: map[int64]int64{}}
	for id := range int64(coupon.MaxRules) {
		rules = append(rules, randomRule(r, id+1, &e))
	}
	for _, n := range []int{1, 2, 41, 500, 5000} {
		var items []coupon.Item
		for i := range n {
			items = append(items, coupon.Item{Product: int64(i), Minor: r.Int64N(1000_00), Currency: "EUR"})
		}
		want := coupon.Offers(rules, e, items, noon, 1)
		for _, workers := range []int{2, 3, 7, 64} {
			if diff := cmp.Diff(want, coupon.Offers(rules, e, items, noon, workers)); diff != "" {
				t.Fatalf("%d items, %d workers (-want +got):\n%s", n, workers, diff)
			}
		}
	}
}
