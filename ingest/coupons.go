package ingest

import (
	"fmt"
	"time"

	"rowmill/coupon"
)

// Users who hold coupons are named member-1 and so on.
const couponUsers = 20

// everyNth product takes no coupon.
const everyNth = 16

// couponYear is the begin of a year.
func couponYear(y int) time.Time { return time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC) }

// couponRules are made up: one at least of every kind, bound and reason to be refused.
// They are in force until 2100, or never were since the source's years, so that what
// they make of a price does not hang on the day.
func couponRules() []coupon.Rule {
	from, until := couponYear(2015), couponYear(2100)
	rule := func(r coupon.Rule) coupon.Rule {
		if r.From.IsZero() {
			r.From = from
		}
		if r.Until.IsZero() {
			r.Until = until
		}
		return r
	}
	return []coupon.Rule{
		rule(coupon.Rule{ID: 1, Code: "WELCOME5", Kind: coupon.Rate, Value: 500}),
		rule(coupon.Rule{ID: 2, Code: "STAY10", Kind: coupon.Rate, Value: 1000, Cap: 30_00, Minimum: 100_00, Currency: "EUR"}),
		rule(coupon.Rule{ID: 3, Code: "MINUS15", Kind: coupon.Fixed, Value: 15_00, Minimum: 150_00, Currency: "EUR"}),
		rule(coupon.Rule{ID: 4, Code: "LONG60", Kind: coupon.Fixed, Value: 60_00, Minimum: 800_00, Currency: "EUR"}),
		rule(coupon.Rule{ID: 5, Code: "FIRST100", Kind: coupon.Rate, Value: 2000, Cap: 80_00, Minimum: 300_00, Currency: "EUR", Stock: 100}),
		rule(coupon.Rule{ID: 6, Code: "MEMBER12", Kind: coupon.Rate, Value: 1250, HeldOnly: true}),
		rule(coupon.Rule{ID: 7, Code: "MEMBER25", Kind: coupon.Fixed, Value: 25_00, Currency: "EUR", HeldOnly: true, Stock: 50}),
		rule(coupon.Rule{ID: 8, Code: "원화5000", Kind: coupon.Fixed, Value: 5000, Minimum: 30_000, Currency: "KRW"}),
		rule(coupon.Rule{ID: 9, Code: "SPRING16", Kind: coupon.Rate, Value: 3000, From: couponYear(2016), Until: couponYear(2017)}),
		rule(coupon.Rule{ID: 10, Code: "CENTURY", Kind: coupon.Rate, Value: 5000, From: couponYear(2100), Until: couponYear(2101)}),
	}
}

// Coupons gives the rules and facts that stand beside the products: the same whenever
// it is called, and of either source.
func Coupons(products int64) coupon.Set {
	set := coupon.Set{Rules: couponRules()}
	for id := int64(everyNth); id <= products; id += everyNth {
		set.Excluded = append(set.Excluded, id)
	}
	for n := range int64(couponUsers) {
		owner := coupon.OwnerOf(fmt.Sprintf("member-%d", n+1))
		set.Holders = append(set.Holders, coupon.Holder{Owner: owner, Product: coupon.EveryProduct, Rule: 6})
		for id := n%5 + 1; id <= products; id += 5 {
			set.Holders = append(set.Holders, coupon.Holder{Owner: owner, Product: id, Rule: 7})
		}
	}
	return set
}
