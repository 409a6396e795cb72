-- Products that no coupon may be used on. A change needs another version in coupon_versions.
-- +goose Up
CREATE TABLE coupon_excluded_products (
    product_id INTEGER NOT NULL,
    PRIMARY KEY (product_id)
);
