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
	store := repository.NewCoupons(a.db)
	if a.redisURL == "" {
		return coupon.NewService(coupon.Config{Store: store, Logger: a.log}), nil
	}
	client, err := jobs.OpenRedis(a.redisURL, a.cfg.CouponTimeout)
	if err != nil {
		return nil, err
	}
	a.onClose(client.Close)
	return coupon.NewService(coupon.Config{Store: store, Copies: couponredis.New(client, a.cfg.CouponTimeout), Logger: a.log}), nil
}
