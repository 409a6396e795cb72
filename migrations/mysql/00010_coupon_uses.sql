-- +goose Up
CREATE TABLE coupon_uses (
    reservation_id BIGINT NOT NULL,
    code VARCHAR(64) NOT NULL,
    discount_minor BIGINT NOT NULL,
    used_on DATE NOT NULL,
    PRIMARY KEY (reservation_id),
    KEY coupon_uses_by_code (code, reservation_id),
    KEY coupon_uses_by_used_on (used_on, reservation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
