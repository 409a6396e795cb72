-- +goose Up
CREATE TABLE channels (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX channels_by_name ON channels (name, id);
