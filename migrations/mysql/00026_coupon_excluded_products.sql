-- Products that no coupon may be used on. A change needs another version in coupon_versions.
-- +goose Up
CREATE TABLE coupon_excluded_products (
    product_id BIGINT NOT NULL,
    PRIMARY KEY (product_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
