-- What coupons take off. A fixed value, cap and minimum are minor units of the currency, the value of a rate is basis
-- points. The window is from valid_from to valid_until, which is no part of it. stock 0 is without limit; used counts what
-- was taken.
-- +goose Up
CREATE TABLE coupon_rules (
    id BIGINT NOT NULL,
    code VARCHAR(64) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    value BIGINT NOT NULL,
    cap_minor BIGINT NOT NULL,
    minimum_minor BIGINT NOT NULL,
    currency VARCHAR(8) NOT NULL,
    valid_from DATETIME(6) NOT NULL,
    valid_until DATETIME(6) NOT NULL,
    stock BIGINT NOT NULL,
    used BIGINT NOT NULL,
    held_only TINYINT NOT NULL,
    PRIMARY KEY (id),
    KEY coupon_rules_by_valid_until (valid_until, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
