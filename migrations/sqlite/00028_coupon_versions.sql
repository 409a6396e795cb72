-- The version of each kind of coupon facts: excluded, stock, and held:<owner>. Each change gives the kind another random
-- one in its transaction. A copy of the facts elsewhere counts while it bears the version that stands here.
-- +goose Up
CREATE TABLE coupon_versions (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (name)
);
