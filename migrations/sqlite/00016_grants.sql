-- What each caller might do when seen last. A worker asks it before it runs a job: the caller is not there to ask.
-- permissions and properties are JSON lists; properties NULL is all of them.
-- +goose Up
CREATE TABLE grants (
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    permissions TEXT NOT NULL,
    properties TEXT NULL,
    max_rows BIGINT NOT NULL,
    seen_at datetime NOT NULL,
    PRIMARY KEY (subject)
);
