-- Which segments a big job has that is spread over the workers, and who makes them. They are those of one attempt of
-- the job; snapshot is the attempt that took its list of rows. A segment is held while lease_until is ahead.
-- +goose Up
CREATE TABLE export_segments (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    snapshot INTEGER NOT NULL,
    worker TEXT NOT NULL,
    lease_until datetime NULL,
    done_at datetime NULL,
    PRIMARY KEY (job_id, attempt, segment)
);
