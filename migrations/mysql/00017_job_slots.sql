-- A requester has so many slots for live jobs, and the unique index lets each be taken once. live_slot follows
-- active_key, which every release clears when a job ends: so no release can leave a slot taken.
-- +goose Up
ALTER TABLE export_jobs
    ADD COLUMN slot INT NULL,
    ADD COLUMN live_slot INT AS (CASE WHEN active_key IS NULL THEN NULL ELSE slot END) VIRTUAL,
    ADD UNIQUE KEY export_jobs_one_requested_by_live_slot (requested_by, live_slot);
