-- +goose Up
CREATE TABLE workers (
    id TEXT NOT NULL,
    started_at datetime NOT NULL,
    seen_at datetime NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX workers_by_seen_at ON workers (seen_at, id);
