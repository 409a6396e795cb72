-- +goose Up
CREATE TABLE coupon_uses (
    reservation_id INTEGER NOT NULL,
    code TEXT NOT NULL,
    discount_minor BIGINT NOT NULL,
    used_on date NOT NULL,
    PRIMARY KEY (reservation_id)
);
CREATE INDEX coupon_uses_by_code ON coupon_uses (code, reservation_id);
CREATE INDEX coupon_uses_by_used_on ON coupon_uses (used_on, reservation_id);
