// Package couponredis keeps copies of the coupon facts in Redis. It implements
// coupon.Copies on one server, behind Sentinel or on a cluster, and never decides what
// is true: SQL does.
//
// Every copy is one key that bears, within itself, the version of the facts that it was
// made of, and is replaced as a whole in one transaction:
//
//	rowmill:coupon:{global}:excluded   set: product ids, and "v:" with the version
//	rowmill:coupon:{global}:stock      hash: rule id to uses left, and "version"
//	rowmill:coupon:{<owner>}:eligible  hash: product id to rule ids, and "version"
//
// So nobody can take a key that was emptied, evicted, expired or written by another
// database for the facts. The first two share a slot of a cluster, the third has its
// own: each command has one key. A reading is one pipeline. On a cluster it is one
// pipeline for each of at most two nodes, sent at the same time: one trip in time.
package couponredis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rowmill/coupon"
	"rowmill/internal/fault"
)

// Keys of the copies that are one for all.
const (
	KeyExcluded = "rowmill:coupon:{global}:excluded"
	KeyStock    = "rowmill:coupon:{global}:stock"
)

const fieldVersion = "version" // no product or rule has such an id

func versionMember(version string) string { return "v:" + version }

// KeyEligible gives the key of what the owner holds.
func KeyEligible(owner string) string { return "rowmill:coupon:{" + owner + "}:eligible" }

// keep is how long a copy that nobody renews is kept, so that users who do not come
// back leave nothing behind.
const keep = 24 * time.Hour

// Copies are the copies in one Redis. It is safe for concurrent use.
type Copies struct {
	client  redis.UniversalClient
	timeout time.Duration
}

var _ coupon.Copies = (*Copies)(nil)

// New returns the copies in the client's Redis, 6.2 or later. A round trip may take up
// to the timeout. The client stays the caller's to close.
func New(client redis.UniversalClient, timeout time.Duration) *Copies {
	return &Copies{client: client, timeout: timeout}
}

// Read implements coupon.Copies.
func (c *Copies) Read(ctx context.Context, q coupon.Question) (coupon.Eligibility, coupon.Kinds, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var excluded *redis.BoolSliceCmd
	var stock, eligible *redis.SliceCmd
	pipe := c.client.Pipeline()
	if q.Versions.Excluded != "" {
		members := make([]any, 1, 1+len(q.Products))
		members[0] = versionMember(q.Versions.Excluded)
		for _, id := range q.Products {
			members = append(members, id)
		}
		excluded = pipe.SMIsMember(ctx, KeyExcluded, members...)
	}
	if q.Versions.Left != "" {
		stock = pipe.HMGet(ctx, KeyStock, fieldsOf(q.Limited)...)
	}
	if q.Versions.Held != "" {
		every := strconv.FormatInt(coupon.EveryProduct, 10)
		eligible = pipe.HMGet(ctx, KeyEligible(q.Owner), append(fieldsOf(q.Products), every)...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return coupon.Eligibility{}, coupon.Kinds{}, unavailable(ctx, err)
	}
	var e coupon.Eligibility
	var missing coupon.Kinds
	if excluded != nil {
		e.Excluded, missing.Excluded = readExcluded(excluded.Val(), q.Products)
	}
	if stock != nil {
		e.Left, missing.Left = readStock(stock.Val(), q.Versions.Left, q.Limited)
	}
	if eligible != nil {
		e.Held, missing.Held = readEligible(eligible.Val(), q.Versions.Held, append(slices.Clip(q.Products), coupon.EveryProduct))
	}
	return e, missing, nil
}

// unavailable says that there is no answer. A caller's own end stays what it is.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "There are no coupon prices: Redis does not answer. Please try again.")
}

// fieldsOf gives the version's field and those of the ids.
func fieldsOf(ids []int64) []string {
	fields := make([]string, 1, 2+len(ids))
	fields[0] = fieldVersion
	for _, id := range ids {
		fields = append(fields, strconv.FormatInt(id, 10))
	}
	return fields
}

func readExcluded(is []bool, products []int64) (excluded map[int64]bool, missing bool) {
	if len(is) != 1+len(products) || !is[0] {
		return nil, true
	}
	for i, id := range products {
		if is[1+i] {
			if excluded == nil {
				excluded = map[int64]bool{}
			}
			excluded[id] = true
		}
	}
	return excluded, false
}

// readStock takes a copy without one of the rules for none: it was made for others.
func readStock(values []any, version string, rules []int64) (left map[int64]int64, missing bool) {
	if len(values) != 1+len(rules) || values[0] != version {
		return nil, true
	}
	left = make(map[int64]int64, len(rules))
	for i, id := range rules {
		text, _ := values[1+i].(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, true
		}
		left[id] = n
	}
	return left, false
}

func readEligible(values []any, version string, products []int64) (held map[int64][]int64, missing bool) {
	if len(values) != 1+len(products) || values[0] != version {
		return nil, true
	}
	held = map[int64][]int64{}
	for i, product := range products {
		text, ok := values[1+i].(string)
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(text, ",") {
			rule, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, true
			}
			held[product] = append(held[product], rule)
		}
	}
	return held, false
}
