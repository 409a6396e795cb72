// Package coupon owns what coupons make of prices: the rules, which of them may be
// used on a product, and the best price that one of them gives. Money is exact: whole
// minor units of a currency, never a fraction in binary.
//
// Rules and facts (which products are excluded, what a user holds, how many uses of a
// rule are left) are SQL's. Copies of the facts lie in Redis, as they are asked for
// hundreds of products at once. A copy counts only while it bears the version that SQL
// gives in the very statement that the rules are read with; any other is read anew
// from SQL. So an emptied, an old and a half-written copy are all the same to a caller,
// who never gets a price from them. Where Redis does not answer there is no price, but
// an error that says so.
package coupon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rowmill/internal/fault"
)

// Kind is how a rule makes a price lower.
type Kind string

const (
	Rate  Kind = "rate"  // by a part of it
	Fixed Kind = "fixed" // by an amount
)

// Bounds, so that no sum leaves 64 bits and no call is without limit.
const (
	MaxMinor    = 100_000_000_000_000 // minor units of a price or an amount
	MaxRate     = 10_000              // basis points: all of the price
	MaxProducts = 500                 // of one question of a caller
	MaxRules    = 100                 // that may apply at one time
	MaxUser     = 255                 // bytes
	MaxCode     = 64                  // bytes
)

// Rule is a coupon. Its window is From to Until, which is no part of it.
type Rule struct {
	ID       int64
	Code     string
	Kind     Kind
	Value    int64  // of a rate: basis points, 1 to MaxRate; else minor units of Currency
	Cap      int64  // of a rate: the most that it takes off, in minor units of Currency; 0: no bound
	Minimum  int64  // price that it begins at, in minor units of Currency; 0: any
	Currency string // "", of a rate without Cap and Minimum: every currency
	From     time.Time
	Until    time.Time
	Stock    int64 // uses in all, first come; 0: without limit
	HeldOnly bool  // only for who holds it, for all products or the one
}

// Check says what is wrong with the rule: a fault.Invalid with a field for each.
func (r Rule) Check() error {
	var wrong []fault.Field
	fail := func(name, detail string) { wrong = append(wrong, fault.Field{Name: name, Detail: detail}) }
	if r.ID < 1 {
		fail("id", "is below 1")
	}
	if r.Code == "" || len(r.Code) > MaxCode || !utf8.ValidString(r.Code) {
		fail("code", fmt.Sprintf("is not a text of 1 to %d bytes", MaxCode))
	}
	_, known := currencies[r.Currency]
	money := r.Kind == Fixed || r.Cap != 0 || r.Minimum != 0
	switch {
	case r.Currency == "" && money:
		fail("currency", "is needed for an amount, a cap and a minimum")
	case r.Currency != "" && !known:
		fail("currency", "is not one of "+strings.Join(Currencies(), ", "))
	}
	limit := int64(MaxMinor)
	switch r.Kind {
	case Rate:
		limit = MaxRate
	case Fixed:
		if r.Cap != 0 {
			fail("cap", "is for a rate")
		}
	default:
		fail("kind", "is neither rate nor fixed")
	}
	if r.Value < 1 || r.Value > limit {
		fail("value", fmt.Sprintf("is not from 1 to %d", limit))
	}
	for name, n := range map[string]int64{"cap": r.Cap, "minimum": r.Minimum, "stock": r.Stock} {
		if n < 0 || n > MaxMinor {
			fail(name, fmt.Sprintf("is not from 0 to %d", int64(MaxMinor)))
		}
	}
	if !r.From.Before(r.Until) {
		fail("until", "is not after from")
	}
	if len(wrong) > 0 {
		return fault.InvalidFields("The coupon rule is not valid.", wrong...)
	}
	return nil
}

// Item is a product at its price.
type Item struct {
	Product  int64
	Minor    int64 // 0 to MaxMinor minor units of Currency
	Currency string
}

// EveryProduct stands for all products where a user holds a rule.
const EveryProduct int64 = 0

// Eligibility is what is known of the products of a call, and of the one who asks.
type Eligibility struct {
	Excluded map[int64]bool    // products that no coupon may be used on
	Held     map[int64][]int64 // rules that the user holds, by product or EveryProduct
	Left     map[int64]int64   // uses left, by rule that has a Stock
}

func (e Eligibility) holds(rule, product int64) bool {
	return slices.Contains(e.Held[EveryProduct], rule) || slices.Contains(e.Held[product], rule)
}

// OwnerOf gives the name that what a user holds is kept under, in SQL and in Redis: the
// first 32 hexadecimal digits of the SHA-256 of the user, who may be named by an
// address. Nobody ("") owns nothing and has no name.
func OwnerOf(user string) string {
	if user == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:16])
}

// CheckUser says what is wrong with a user's name; "" is nobody and right.
func CheckUser(user string) (detail string) {
	if len(user) > MaxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unicode.IsControl) {
		return fmt.Sprintf("is not a text of at most %d bytes without control characters", MaxUser)
	}
	return ""
}
