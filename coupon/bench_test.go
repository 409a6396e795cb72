package coupon_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"rowmill/coupon"
)

// BenchmarkOffers shows from when on workers gain: see parallelFrom.
func BenchmarkOffers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 9))
	e := coupon.Eligibility{Excluded: map[int64]bool{3: true}, Held: map[int64][]int64{}, Left: map[int64]int64{}}
	var rules []coupon.Rule
	for id := range int64(20) {
		rules = append(rules, randomRule(r, id+1, &e))
	}
	for _, n := range []int{10, 50, 100, 200, 500} {
		var items []coupon.Item
		for id := range int64(n) {
			items = append(items, coupon.Item{Product: id + 1, Minor: r.Int64N(400_00), Currency: "EUR"})
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d looks, %d workers", n*len(rules), workers), func(b *testing.B) {
				for b.Loop() {
					coupon.Offers(rules, e, items, noon, workers)
				}
			})
		}
	}
}
