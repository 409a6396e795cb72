-- What coupons take off. A fixed value, cap and minimum are minor units of the currency, the value of a rate is basis
-- points. The window is from valid_from to valid_until, which is no part of it. stock 0 is without limit; used counts what
-- was taken.
-- +goose Up
CREATE TABLE coupon_rules (
    id INTEGER NOT NULL,
    code TEXT NOT NULL,
    kind TEXT NOT NULL,
    value BIGINT NOT NULL,
    cap_minor BIGINT NOT NULL,
    minimum_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    valid_from datetime NOT NULL,
    valid_until datetime NOT NULL,
    stock BIGINT NOT NULL,
    used BIGINT NOT NULL,
    held_only INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX coupon_rules_by_valid_until ON coupon_rules (valid_until, id);
