-- A requester has so many slots for live jobs, and the unique index lets each be taken once. live_slot follows
-- active_key, which every release clears when a job ends: so no release can leave a slot taken.
-- +goose Up
ALTER TABLE export_jobs ADD COLUMN slot INTEGER NULL;
ALTER TABLE export_jobs ADD COLUMN live_slot INTEGER AS (CASE WHEN active_key IS NULL THEN NULL ELSE slot END) VIRTUAL;
CREATE UNIQUE INDEX export_jobs_one_requested_by_live_slot ON export_jobs (requested_by, live_slot);
