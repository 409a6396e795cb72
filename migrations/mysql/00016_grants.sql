-- What each caller might do when seen last. A worker asks it before it runs a job: the caller is not there to ask.
-- permissions and properties are JSON lists; properties NULL is all of them.
-- +goose Up
CREATE TABLE grants (
    subject VARCHAR(255) NOT NULL,
    name TEXT NOT NULL,
    permissions TEXT NOT NULL,
    properties MEDIUMTEXT NULL,
    max_rows BIGINT NOT NULL,
    seen_at DATETIME(6) NOT NULL,
    PRIMARY KEY (subject)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
