-- How many of a product's unit are free on a day. A unit without a row of that day has none. The day comes first, as the
-- home board asks for many units of one day.
-- +goose Up
CREATE TABLE inventories (
    day DATE NOT NULL,
    product_unit_id BIGINT NOT NULL,
    available INT NOT NULL,
    PRIMARY KEY (day, product_unit_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
