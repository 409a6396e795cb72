package repository

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Get gives a job; an unknown one is NotFound.
func (j *Jobs) Get(ctx context.Context, id string) (export.Job, error) {
	found, err := j.find(ctx, "WHERE id = ?", id)
	if err != nil {
		return export.Job{}, err
	}
	if len(found) == 0 {
		return export.Job{}, fault.New(fault.NotFound, "There is no job %q.", id)
	}
	return found[0], nil
}

// History gives a part of the jobs, newest first. A limit that is none is
// Invalid, a Before that names no job NotFound.
func (j *Jobs) History(ctx context.Context, h export.History) ([]export.Job, error) {
	if h.Limit < 1 || h.Limit > export.MaxHistory {
		return nil, fault.InvalidFields("The history is not valid.",
			fault.Field{Name: "limit", Detail: fmt.Sprintf("%d is not from 1 to %d", h.Limit, export.MaxHistory)})
	}
	where, args := "WHERE 1 = 1", []any{}
	if h.RequestedBy != "" {
		where, args = where+" AND requested_by = ?", append(args, h.RequestedBy)
	}
	if h.Status != "" {
		where, args = where+" AND status = ?", append(args, string(h.Status))
	}
	if h.Before != "" {
		before, err := j.Get(ctx, h.Before)
		if err != nil {
			return nil, err
		}
		at := moment{before.CreatedAt}
		where += " AND created_at <= ? AND (created_at < ? OR id < ?)"
		args = append(args, at, at, before.ID)
	}
	return j.find(ctx, where+" ORDER BY created_at DESC, id DESC LIMIT ?", append(args, h.Limit)...)
}

// Due gives the queued jobs whose time has come, the one that waits longest first;
// of those that come after the given job, if it is not the zero Job.
func (j *Jobs) Due(ctx context.Context, at time.Time, after export.Job, limit int) ([]export.Job, error) {
	where, args := "WHERE status = ? AND run_at <= ?", []any{string(export.Queued), moment{at}}
	if after.ID != "" {
		from := moment{after.RunAt}
		where, args = where+" AND run_at >= ? AND (run_at > ? OR id > ?)", append(args, from, from, after.ID)
	}
	return j.find(ctx, where+" ORDER BY run_at, id LIMIT ?", append(args, limit)...)
}

// Unfinished counts the jobs of each queue that wait, due or not, or run.
func (j *Jobs) Unfinished(ctx context.Context) (map[export.Queue]int, error) {
	rows, err := j.db.rows(ctx, "SELECT queue, COUNT(*) FROM export_jobs WHERE queue IN (?, ?) AND status IN (?, ?) GROUP BY queue",
		string(export.QueueSmall), string(export.QueueLarge), string(export.Queued), string(export.Running))
	if err != nil {
		return nil, mapError(ctx, "count the unfinished jobs", err)
	}
	defer rows.Close()
	counts := map[export.Queue]int{}
	for rows.Next() {
		var q export.Queue
		var n int
		if err := rows.Scan(&q, &n); err != nil {
			return nil, mapError(ctx, "count the unfinished jobs", err)
		}
		counts[q] = n
	}
	return counts, mapError(ctx, "count the unfinished jobs", rows.Err())
}

// Lost gives the running jobs whose lease has passed, the longest first.
func (j *Jobs) Lost(ctx context.Context, at time.Time, limit int) ([]export.Job, error) {
	return j.find(ctx, "WHERE status = ? AND lease_until < ? ORDER BY lease_until, id LIMIT ?", string(export.Running), moment{at}, limit)
}

// Expirable gives the succeeded jobs whose file is past its time, the longest first.
func (j *Jobs) Expirable(ctx context.Context, at time.Time, limit int) ([]export.Job, error) {
	return j.find(ctx, "WHERE status = ? AND expires_at < ? ORDER BY expires_at, id LIMIT ?", string(export.Succeeded), moment{at}, limit)
}

const selectJob = "SELECT id, request, scope, requested_by, queue, turn, status, phase, attempt, failures, rows_expected, rows_written," +
	" created_at, run_at, started_at, lease_until, finished_at, expires_at," +
	" failure, file_key, file_size, file_sha256, receipt, trace_parent FROM export_jobs "

func (j *Jobs) find(ctx context.Context, where string, args ...any) (jobs []export.Job, err error) {
	rows, err := j.db.rows(ctx, selectJob+where, args...)
	if err != nil {
		return nil, mapError(ctx, "read jobs", err)
	}
	defer rows.Close()
	for rows.Next() {
		job, err := scanJob(rows)
		if err != nil {
			return nil, mapError(ctx, "read a job", err)
		}
		jobs = append(jobs, job)
	}
	return jobs, mapError(ctx, "read jobs", rows.Err())
}

func scanJob(rows *sql.Rows) (job export.Job, err error) {
	var created, run, started, lease, finished, expires moment
	var request, scope string
	var failure, key, sum, receipt sql.NullString
	var size sql.NullInt64
	if err := rows.Scan(&job.ID, &request, &scope, &job.RequestedBy, &job.Queue, &job.Turn, &job.Status, &job.Phase, &job.Attempt, &job.Failures,
		&job.RowsExpected, &job.RowsWritten, &created, &run, &started, &lease, &finished, &expires,
		&failure, &key, &size, &sum, &receipt, &job.TraceParent); err != nil {
		return job, err
	}
	job.CreatedAt, job.RunAt, job.StartedAt = created.Time, run.Time, started.Time
	job.LeaseUntil, job.FinishedAt, job.ExpiresAt = lease.Time, finished.Time, expires.Time
	if key.Valid {
		job.File = &export.File{Key: key.String, Size: size.Int64, SHA256: sum.String}
	}
	if err := json.Unmarshal([]byte(request), &job.Request); err != nil {
		return job, fmt.Errorf("decode the request of job %s: %w", job.ID, err)
	}
	if err := json.Unmarshal([]byte(scope), &job.Scope); err != nil {
		return job, fmt.Errorf("decode the scope of job %s: %w", job.ID, err)
	}
	if failure.Valid {
		err = json.Unmarshal([]byte(failure.String), &job.Failure)
	}
	if err == nil && receipt.Valid {
		err = json.Unmarshal([]byte(receipt.String), &job.Receipt)
	}
	if err != nil {
		err = fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	return job, err
}
