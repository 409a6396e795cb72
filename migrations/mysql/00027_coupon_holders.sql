-- Who holds which rules: owner is the start of the SHA-256 of the user, so that nobody's name is in it. product_id 0 is
-- every product. A change needs another version of the owner in coupon_versions.
-- +goose Up
CREATE TABLE coupon_holders (
    owner VARCHAR(64) NOT NULL,
    product_id BIGINT NOT NULL,
    rule_id BIGINT NOT NULL,
    PRIMARY KEY (owner, product_id, rule_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
