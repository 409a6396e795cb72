-- The version of each kind of coupon facts: excluded, stock, and held:<owner>. Each change gives the kind another random
-- one in its transaction. A copy of the facts elsewhere counts while it bears the version that stands here.
-- +goose Up
CREATE TABLE coupon_versions (
    name VARCHAR(80) NOT NULL,
    version VARCHAR(64) NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
