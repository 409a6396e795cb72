package main

import (
	"rowmill/coupon"
	"rowmill/coupon/couponredis"
	"rowmill/jobs"
	"rowmill/repository"
)

// couponPrices wires the coupon prices. Without a Redis each question is refused, and
// everything else works.
func (a *app) couponPrices() (*coupon.Service, error) {
	cfg := coupon.Config{Store: repository.NewCoupons(a.db), Logger: a.log}
	if a.redisURL != "" {
		client, err := jobs.OpenRedis(a.redisURL, a.cfg.CouponTimeout)
		if err != nil {
			return nil, err
		}
		a.onClose(client.Close)
		cfg.Copies = couponredis.New(client, a.cfg.CouponTimeout)
	}
	return coupon.NewService(cfg), nil
}
