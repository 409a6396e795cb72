-- What the job's requester was let see. A job of before, whose requester's rights were not asked, and one of an
-- older gateway see all rows, with personal data masked.
-- +goose Up
ALTER TABLE export_jobs ADD COLUMN scope MEDIUMTEXT NOT NULL DEFAULT ('{"properties":null,"personal":false}');
