package coupon

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Reason is why a rule does not apply. Each is stable.
type Reason string

// The reasons, in the order in which they are looked for: the first that holds is told.
const (
	ExcludedProduct Reason = "excluded-product" // no coupon may be used on the product
	NotEligible     Reason = "not-eligible"     // the user does not hold the rule for it
	NotYet          Reason = "not-yet"          // the window has not begun
	Over            Reason = "over"             // the window has ended
	OtherCurrency   Reason = "currency"         // the rule is of another currency than the price
	BelowMinimum    Reason = "below-minimum"    // the price is
	OutOfStock      Reason = "out-of-stock"     // every use of it is taken
)

// Refusal is a rule that does not apply, and why.
type Refusal struct {
	Rule   int64
	Reason Reason
}

// Applied is a rule that makes a price lower.
type Applied struct {
	Rule     int64
	Code     string
	Minor    int64 // the price with it, from 0
	Discount int64 // what it takes off, at least 1
}

// Offer is what the rules make of an item. A rule that is neither Best nor refused would
// apply and makes the price no lower than Best does.
type Offer struct {
	Item
	Best    *Applied  // nil if no rule makes it cheaper
	Refused []Refusal // by rule
}

// Best gives the least price that one of the rules makes of the item at that time. Of
// rules that make the same price it is the one with the lowest id, so the order of
// the rules does not matter.
//
// What a rate takes off is rounded half up to the minor unit, so a guest never pays
// more than half of one above the exact price; then the cap holds, to the unit. Nothing
// takes off more than the price.
func Best(rules []Rule, e Eligibility, item Item, at time.Time) Offer {
	o := Offer{Item: item}
	for i := range rules {
		r := &rules[i]
		if reason := refusal(r, e, item, at); reason != "" {
			o.Refused = append(o.Refused, Refusal{r.ID, reason})
			continue
		}
		o.take(r)
	}
	slices.SortFunc(o.Refused, func(a, b Refusal) int { return cmp.Compare(a.Rule, b.Rule) })
	return o
}

// take makes r the best rule if it is.
func (o *Offer) take(r *Rule) {
	off := discount(r, o.Minor)
	if off == 0 || o.Best != nil && (off < o.Best.Discount || off == o.Best.Discount && r.ID > o.Best.Rule) {
		return
	}
	if o.Best == nil {
		o.Best = new(Applied)
	}
	*o.Best = Applied{Rule: r.ID, Code: r.Code, Minor: o.Minor - off, Discount: off}
}

func refusal(r *Rule, e Eligibility, item Item, at time.Time) Reason {
	switch {
	case e.Excluded[item.Product]:
		return ExcludedProduct
	case r.HeldOnly && !e.holds(r.ID, item.Product):
		return NotEligible
	case at.Before(r.From):
		return NotYet
	case !at.Before(r.Until):
		return Over
	case r.Currency != "" && r.Currency != item.Currency:
		return OtherCurrency
	case item.Minor < r.Minimum:
		return BelowMinimum
	case r.Stock > 0 && e.Left[r.ID] < 1:
		return OutOfStock
	}
	return ""
}

// discount gives what an applicable rule takes off a price of 0 to MaxMinor.
func discount(r *Rule, minor int64) int64 {
	off := r.Value
	if r.Kind == Rate {
		off = (minor*r.Value + MaxRate/2) / MaxRate // at most 10¹⁴ × 10⁴
		if r.Cap > 0 {
			off = min(off, r.Cap)
		}
	}
	return min(off, minor)
}

// parallelFrom is the number of looks at a rule from which on more goroutines than one
// gain something: a look takes some 20 ns, a goroutine some microseconds (BenchmarkOffers).
const parallelFrom = 2048

// Offers gives what the rules make of each item, in the items' order. It uses up to
// workers goroutines, and this one alone where there is little to do.
func Offers(rules []Rule, e Eligibility, items []Item, at time.Time, workers int) []Offer {
	offers := make([]Offer, len(items))
	each := func(from, to int) {
		for i := from; i < to; i++ {
			offers[i] = Best(rules, e, items[i], at)
		}
	}
	workers = min(workers, len(items))
	if workers < 2 || len(items)*len(rules) < parallelFrom {
		each(0, len(items))
		return offers
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { each(w*len(items)/workers, (w+1)*len(items)/workers) })
	}
	group.Wait()
	return offers
}
