package main

import (
	"context"
	"fmt"
	"time"

	"rowmill/internal/bench"
)

type benchCoupon struct {
	Products int           `name:"products" default:"200" help:"Products of a question, 1 to 500."`
	Rules    int           `name:"rules" default:"20" help:"Coupon rules that may apply, 1 to 100."`
	Calls    int           `name:"calls" default:"20" help:"Questions of each rung."`
	RTT      time.Duration `name:"rtt" default:"1ms" help:"Delay added to each round trip to Redis."`
	RedisURL string        `name:"redis-url" placeholder:"URL" help:"A Redis, as redis://[user:password@]host:port[/db]; empty: one inside this process."`
	JSON     bool          `name:"json" help:"Write JSON instead of Markdown."`
}

func (b benchCoupon) Run(ctx context.Context, s streams) error {
	if err := asShipped(); err != nil {
		return err
	}
	report, err := bench.Coupon(ctx, bench.CouponConfig{RedisURL: b.RedisURL, Products: b.Products, Rules: b.Rules, Calls: b.Calls, RTT: b.RTT},
		func(what string) { _, _ = fmt.Fprintln(s.err, what) }) // seen or not, it goes on
	if err != nil {
		return err
	}
	if b.JSON {
		return writeJSON(s.out, report)
	}
	return report.Print(s.out)
}
