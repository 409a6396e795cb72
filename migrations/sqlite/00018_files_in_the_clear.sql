-- What the releases before scopes have published holds personal data in the clear, and has to be told and guarded so. No
-- set of rows was kept of it.
-- +goose Up
UPDATE export_jobs SET scope = '{"properties":null,"personal":true}'
WHERE status IN ('succeeded', 'expired') AND NOT EXISTS (SELECT 1 FROM export_row_sets s WHERE s.job_id = export_jobs.id);
