package repository

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"rowmill/export"
)

// Claim starts attempt f.Attempt of a queued job whose last attempt was the one
// before, whatever its run_at: the queue says when. Of any number of claims one
// wins, and the others get export.ErrFenced.
func (j *Jobs) Claim(ctx context.Context, f export.Fence, worker string, at, leaseUntil time.Time) (export.Job, error) {
	done := j.table(ctx).
		Where("id = ? AND attempt = ? AND status = ?", f.JobID, f.Attempt-1, string(export.Queued)).
		Updates(map[string]any{
			"status": string(export.Running), "attempt": f.Attempt, "worker": worker,
			"phase": string(export.PhaseSnapshot), "rows_written": 0,
			"started_at": moment{at}, "lease_until": moment{leaseUntil},
		})
	if err := fenced(ctx, "claim a job", done); err != nil {
		return export.Job{}, err
	}
	job, err := j.Get(ctx, f.JobID)
	if err == nil && (job.Attempt != f.Attempt || job.Status != export.Running) {
		err = export.ErrFenced // canceled in between
	}
	return job, err
}

// Report implements export.Attempts.
func (j *Jobs) Report(ctx context.Context, f export.Fence, p export.Progress, leaseUntil time.Time) error {
	return j.write(ctx, "report progress", f, map[string]any{
		"phase": string(p.Phase), "rows_expected": p.Expected, "rows_written": p.Written,
		"lease_until": moment{leaseUntil},
	})
}

// Succeed implements export.Attempts.
func (j *Jobs) Succeed(ctx context.Context, f export.Fence, file export.File, r export.Receipt, at, expires time.Time) error {
	receipt, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a receipt: %w", err)
	}
	return j.write(ctx, "publish a job", f, map[string]any{
		"status": string(export.Succeeded), "phase": "", "active_key": nil, "lease_until": nil,
		"finished_at": moment{at}, "expires_at": moment{expires}, "failure": nil,
		"rows_expected": r.Expected, "rows_written": r.Written,
		"file_key": file.Key, "file_size": file.Size, "file_sha256": file.SHA256, "receipt": string(receipt),
	})
}

// Fail implements export.Attempts.
func (j *Jobs) Fail(ctx context.Context, f export.Fence, why export.Failure) error {
	failure, err := failureText(why)
	if err != nil {
		return err
	}
	return j.write(ctx, "fail a job", f, map[string]any{
		"status": string(export.Failed), "phase": "", "active_key": nil, "lease_until": nil,
		"finished_at": moment{why.At}, "failure": failure, "failures": gorm.Expr("failures + 1"),
	})
}

// Release implements export.Attempts.
func (j *Jobs) Release(ctx context.Context, f export.Fence, runAt time.Time, why *export.Failure) error {
	set := map[string]any{
		"status": string(export.Queued), "phase": "", "lease_until": nil,
		"run_at": moment{runAt}, "rows_written": 0,
	}
	if why != nil {
		failure, err := failureText(*why)
		if err != nil {
			return err
		}
		set["failure"], set["failures"] = failure, gorm.Expr("failures + 1")
	}
	return j.write(ctx, "release a job", f, set)
}

func failureText(why export.Failure) (string, error) {
	why.At = why.At.UTC().Truncate(time.Microsecond)
	b, err := json.Marshal(why)
	if err != nil {
		return "", fmt.Errorf("encode a failure: %w", err)
	}
	return string(b), nil
}

// write changes the job of the fence, if the fence still holds.
func (j *Jobs) write(ctx context.Context, doing string, f export.Fence, set map[string]any) error {
	return fenced(ctx, doing, j.table(ctx).
		Where("id = ? AND attempt = ? AND status = ?", f.JobID, f.Attempt, string(export.Running)).
		Updates(set))
}

// fenced is export.ErrFenced for a write that did not find its one row as it must be.
func fenced(ctx context.Context, doing string, done *gorm.DB) error {
	return fencedRows(ctx, doing, done, 1)
}

// fencedRows is fenced for a write of so many rows.
func fencedRows(ctx context.Context, doing string, done *gorm.DB, rows int) error {
	if done.Error != nil {
		return mapError(ctx, doing, done.Error)
	}
	if done.RowsAffected != int64(rows) {
		return fmt.Errorf("%s: %w", doing, export.ErrFenced)
	}
	return nil
}
