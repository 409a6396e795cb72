-- The truth about jobs. active_key is set while a job is alive and names its owner and request: its unique index
-- makes a double click one job. request_key is a hash of the request, to tell the same one from another under a
-- repeated idempotency key.
-- +goose Up
CREATE TABLE export_jobs (
    id TEXT NOT NULL,
    request TEXT NOT NULL,
    request_key TEXT NOT NULL,
    requested_by TEXT NOT NULL,
    idempotency_key TEXT NULL,
    active_key TEXT NULL,
    queue TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    rows_expected BIGINT NOT NULL,
    rows_written BIGINT NOT NULL,
    created_at datetime NOT NULL,
    run_at datetime NOT NULL,
    started_at datetime NULL,
    lease_until datetime NULL,
    finished_at datetime NULL,
    expires_at datetime NULL,
    failure TEXT NULL,
    file_key TEXT NULL,
    file_size BIGINT NULL,
    file_sha256 TEXT NULL,
    receipt TEXT NULL,
    trace_parent TEXT NOT NULL,
    worker TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX export_jobs_one_requested_by_idempotency_key ON export_jobs (requested_by, idempotency_key);
CREATE UNIQUE INDEX export_jobs_one_active_key ON export_jobs (active_key);
CREATE INDEX export_jobs_by_created_at ON export_jobs (created_at, id);
CREATE INDEX export_jobs_by_requested_by_created_at ON export_jobs (requested_by, created_at, id);
CREATE INDEX export_jobs_by_status_created_at ON export_jobs (status, created_at, id);
CREATE INDEX export_jobs_by_requested_by_status_created_at ON export_jobs (requested_by, status, created_at, id);
CREATE INDEX export_jobs_by_status_run_at ON export_jobs (status, run_at, id);
CREATE INDEX export_jobs_by_status_lease_until ON export_jobs (status, lease_until, id);
CREATE INDEX export_jobs_by_status_expires_at ON export_jobs (status, expires_at, id);
CREATE INDEX export_jobs_by_queue_status_created_at ON export_jobs (queue, status, created_at, id);
