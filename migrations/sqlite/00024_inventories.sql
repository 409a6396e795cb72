-- How many of a product's unit are free on a day. A unit without a row of that day has none. The day comes first, as the
-- home board asks for many units of one day.
-- +goose Up
CREATE TABLE inventories (
    day date NOT NULL,
    product_unit_id BIGINT NOT NULL,
    available INTEGER NOT NULL,
    PRIMARY KEY (day, product_unit_id)
);
