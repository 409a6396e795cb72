-- Who took what out, or tried: rows are added and, when they are old, removed; none is ever changed.
-- +goose Up
CREATE TABLE audit_events (
    id VARCHAR(64) NOT NULL,
    at DATETIME(6) NOT NULL,
    actor VARCHAR(255) NOT NULL,
    actor_name VARCHAR(255) NOT NULL,
    address VARCHAR(64) NOT NULL,
    user_agent VARCHAR(256) NOT NULL,
    request_id VARCHAR(128) NOT NULL,
    action VARCHAR(32) NOT NULL,
    job_id VARCHAR(64) NOT NULL,
    dataset VARCHAR(64) NOT NULL,
    filter MEDIUMTEXT NOT NULL,
    sort VARCHAR(128) NOT NULL,
    column_keys MEDIUMTEXT NOT NULL,
    personal TINYINT NOT NULL,
    reason VARCHAR(500) NOT NULL,
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    detail VARCHAR(500) NOT NULL,
    PRIMARY KEY (id),
    KEY audit_events_by_at (at, id),
    KEY audit_events_by_actor_at (actor, at, id),
    KEY audit_events_by_action_at (action, at, id),
    KEY audit_events_by_job_id_at (job_id, at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
