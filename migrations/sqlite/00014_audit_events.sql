-- Who took what out, or tried: rows are added and, when they are old, removed; none is ever changed.
-- +goose Up
CREATE TABLE audit_events (
    id TEXT NOT NULL,
    at datetime NOT NULL,
    actor TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action TEXT NOT NULL,
    job_id TEXT NOT NULL,
    dataset TEXT NOT NULL,
    filter TEXT NOT NULL,
    sort TEXT NOT NULL,
    column_keys TEXT NOT NULL,
    personal INTEGER NOT NULL,
    reason TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX audit_events_by_at ON audit_events (at, id);
CREATE INDEX audit_events_by_actor_at ON audit_events (actor, at, id);
CREATE INDEX audit_events_by_action_at ON audit_events (action, at, id);
CREATE INDEX audit_events_by_job_id_at ON audit_events (job_id, at, id);
