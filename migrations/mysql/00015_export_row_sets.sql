-- Which rows an attempt wrote into its file: sets of ids (roaring bitmaps) in parts of at most 1 MiB, each with its own
-- range of ids, so that one question reads one part of a set. Only those of the attempt that a succeeded job ended
-- with say what is in a file. row_keys comes last: what stands before it is read without it.
-- +goose Up
CREATE TABLE export_row_sets (
    job_id VARCHAR(64) NOT NULL,
    attempt INT NOT NULL,
    part INT NOT NULL,
    dataset VARCHAR(64) NOT NULL,
    min_id BIGINT NOT NULL,
    max_id BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    row_keys LONGBLOB NOT NULL,
    PRIMARY KEY (job_id, attempt, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
