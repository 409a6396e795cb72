package couponredis

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"rowmill/coupon"
)

// argsAtOnce are arguments of one command: Redis does nothing else while it reads them.
const argsAtOnce = 1000

// Write implements coupon.Copies by one transaction; on a cluster, where one keeps to a
// slot, by two at the same time. Facts without a version are none and not kept.
func (c *Copies) Write(ctx context.Context, f coupon.Fresh) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	var global, owner []func(redis.Pipeliner)
	if f.Excluded != nil && f.Excluded.Version != "" {
		global = append(global, func(p redis.Pipeliner) { writeExcluded(ctx, p, f.Excluded) })
	}
	if f.Left != nil && f.Left.Version != "" {
		global = append(global, func(p redis.Pipeliner) { writeStock(ctx, p, f.Left) })
	}
	if f.Held != nil && f.Held.Version != "" {
		owner = append(owner, func(p redis.Pipeliner) { writeEligible(ctx, p, f.Held) })
	}
	if _, cluster := c.client.(*redis.ClusterClient); !cluster {
		global, owner = append(global, owner...), nil
	}
	for _, commands := range [][]func(redis.Pipeliner){global, owner} {
		if len(commands) > 0 {
			group.Go(func() error { return c.replace(ctx, commands) })
		}
	}
	return group.Wait()
}

// replace sends commands as a transaction.
func (c *Copies) replace(ctx context.Context, commands []func(redis.Pipeliner)) error {
	_, err := c.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, write := range commands {
			write(p)
		}
		return nil
	})
	if err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

func writeExcluded(ctx context.Context, p redis.Pipeliner, f *coupon.ExcludedFacts) {
	members := make([]any, 1, 1+len(f.Products))
	members[0] = versionMember(f.Version)
	for _, id := range f.Products {
		members = append(members, id)
	}
	p.Del(ctx, KeyExcluded)
	for run := range slices.Chunk(members, argsAtOnce) {
		p.SAdd(ctx, KeyExcluded, run...)
	}
	p.Expire(ctx, KeyExcluded, keep)
}

func writeStock(ctx context.Context, p redis.Pipeliner, f *coupon.LeftFacts) {
	pairs := []any{fieldVersion, f.Version}
	for rule, left := range f.Left {
		pairs = append(pairs, rule, left)
	}
	writeHash(ctx, p, KeyStock, pairs)
}

func writeEligible(ctx context.Context, p redis.Pipeliner, f *coupon.HeldFacts) {
	pairs := []any{fieldVersion, f.Version}
	for product, rules := range f.Held {
		var text []byte
		for i, rule := range rules {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, rule, 10)
		}
		pairs = append(pairs, product, text)
	}
	writeHash(ctx, p, KeyEligible(f.Owner), pairs)
}

func writeHash(ctx context.Context, p redis.Pipeliner, key string, pairs []any) {
	p.Del(ctx, key)
	for run := range slices.Chunk(pairs, argsAtOnce) { // even: no pair is cut
		p.HSet(ctx, key, run...)
	}
	p.Expire(ctx, key, keep)
}
