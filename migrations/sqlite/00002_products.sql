-- +goose Up
CREATE TABLE products (
    id INTEGER NOT NULL,
    property_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX products_by_property_id ON products (property_id, id);
CREATE INDEX products_by_name ON products (name, id);
