-- +goose Up
CREATE TABLE properties (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX properties_by_name ON properties (name, id);
