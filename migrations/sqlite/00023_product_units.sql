-- What of a product can be sold: a kind of room, or of room and board.
-- +goose Up
CREATE TABLE product_units (
    id INTEGER NOT NULL,
    product_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX product_units_by_product_id ON product_units (product_id, id);
