-- Which segments a big job has that is spread over the workers, and who makes them. They are those of one attempt of
-- the job; snapshot is the attempt that took its list of rows. A segment is held while lease_until is ahead.
-- +goose Up
CREATE TABLE export_segments (
    job_id VARCHAR(64) NOT NULL,
    attempt INT NOT NULL,
    segment INT NOT NULL,
    snapshot INT NOT NULL,
    worker VARCHAR(255) NOT NULL,
    lease_until DATETIME(6) NULL,
    done_at DATETIME(6) NULL,
    PRIMARY KEY (job_id, attempt, segment)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
