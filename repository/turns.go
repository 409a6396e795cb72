package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rowmill/export"
)

// nextTurn gives the turn of a requester's new job: one past the highest turn that
// the queue has begun, or past the requester's own last one. So the n-th job of
// somebody who waits comes with the n-th of all others who wait (start-time fair
// queueing), and who has waited for nothing gets nothing for it.
//
// Two who ask at once may be told the same turn: the unique index over a
// requester's live turns lets one of them have it. What the queue has begun may
// have moved on meanwhile, so a job may come a turn too early.
func (j *Jobs) nextTurn(ctx context.Context, requestedBy string, q export.Queue) (int64, error) {
	var begun, own sql.NullInt64
	err := j.db.gorm.WithContext(ctx).Raw("SELECT (SELECT MAX(started_turn) FROM export_jobs WHERE queue = ?),"+
		" (SELECT MAX(live_turn) FROM export_jobs WHERE requested_by = ? AND queue = ?)",
		string(q), requestedBy, string(q)).Row().Scan(&begun, &own)
	return max(begun.Int64, own.Int64) + 1, mapError(ctx, "give a job its turn", err)
}

// byTurn is the order in which the jobs of a queue run.
const byTurn = "turn, created_at, id"

// inTurn names the index that gives the order. Where few jobs are due the engines would
// rather find those and sort them, which they also do where ten thousand have become due.
func (j *Jobs) inTurn() string {
	if j.db.sqlite {
		return "INDEXED BY export_jobs_by_queue_status_turn "
	}
	return "FORCE INDEX (export_jobs_by_queue_status_turn) "
}

// Candidates that one look gives, and how often a claim looks. More workers than
// candidates may race for the same; each look that ends without a job means that
// so many others have got one.
const (
	claimCandidates = 8
	claimLooks      = 32
)

// ClaimNext starts the next attempt of that job of the queue that is due and whose
// turn is next. Where none is due it is export.ErrNothingDue. Any number may ask at
// once, and each gets another job.
func (j *Jobs) ClaimNext(ctx context.Context, q export.Queue, worker string, at, leaseUntil time.Time) (export.Job, error) {
	for range claimLooks {
		next, err := j.find(ctx, j.inTurn()+"WHERE queue = ? AND status = ? AND run_at <= ? ORDER BY "+byTurn+" LIMIT ?",
			string(q), string(export.Queued), moment{at}, claimCandidates)
		if err != nil {
			return export.Job{}, err
		}
		if len(next) == 0 {
			return export.Job{}, export.ErrNothingDue
		}
		for _, job := range next {
			got, err := j.Claim(ctx, export.Fence{JobID: job.ID, Attempt: job.Attempt + 1}, worker, at, leaseUntil)
			if !errors.Is(err, export.ErrFenced) {
				return got, err
			}
		}
	}
	return export.Job{}, fmt.Errorf("claim the next job of queue %s: others were faster %d times", q, claimLooks*claimCandidates)
}

// Ahead counts the queued jobs of the job's queue whose turn is before its own.
func (j *Jobs) Ahead(ctx context.Context, job export.Job) (n int64, err error) {
	at := moment{job.CreatedAt}
	err = j.db.gorm.WithContext(ctx).Raw("SELECT COUNT(*) FROM export_jobs WHERE queue = ? AND status = ?"+
		" AND turn <= ? AND (turn < ? OR created_at < ? OR created_at = ? AND id < ?)",
		string(job.Queue), string(export.Queued), job.Turn, job.Turn, at, at, job.ID).Row().Scan(&n)
	return n, mapError(ctx, "count the jobs ahead", err)
}
