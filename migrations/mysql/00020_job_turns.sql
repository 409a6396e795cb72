-- Jobs of a queue run by turns. live_turn is a live job's: its unique index gives each of a requester's jobs another
-- one. started_turn is of a job that has begun at least once: the highest is where the queue stands. Both follow columns
-- that every release writes. A job of before, and one that an older gateway inserts, has turn 0, which any number may have.
-- What waits and runs is counted with its rows, to bound it.
-- +goose Up
ALTER TABLE export_jobs
    ADD COLUMN turn BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN live_turn BIGINT AS (CASE WHEN active_key IS NULL OR turn = 0 THEN NULL ELSE turn END) VIRTUAL,
    ADD COLUMN started_turn BIGINT AS (CASE WHEN started_at IS NULL THEN NULL ELSE turn END) VIRTUAL,
    ADD UNIQUE KEY export_jobs_one_requested_by_queue_live_turn (requested_by, queue, live_turn),
    ADD KEY export_jobs_by_queue_started_turn (queue, started_turn, id),
    ADD KEY export_jobs_by_queue_status_turn (queue, status, turn, created_at, id),
    ADD KEY export_jobs_by_status_rows_expected (status, rows_expected, id);
