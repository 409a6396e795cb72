-- +goose Up
CREATE TABLE workers (
    id VARCHAR(255) NOT NULL,
    started_at DATETIME(6) NOT NULL,
    seen_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    KEY workers_by_seen_at (seen_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
