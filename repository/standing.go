package repository

import (
	"context"
	"time"

	"rowmill/export"
)

// standingQuery reads only jobs that are alive, by the index over their status,
// however many have ended.
const standingQuery = "SELECT queue, COUNT(CASE WHEN status = ? AND run_at <= ? THEN 1 END), COUNT(CASE WHEN status = ? AND run_at > ? THEN 1 END)," +
	" COUNT(CASE WHEN status = ? THEN 1 END), MIN(CASE WHEN status = ? THEN run_at END)" +
	" FROM export_jobs WHERE status IN (?, ?) GROUP BY queue"

// Standing counts the jobs that are alive, by queue, and the workers.
func (j *Jobs) Standing(ctx context.Context, at time.Time) (export.Standing, error) {
	workers, err := j.Workers(ctx, at)
	if err != nil {
		return export.Standing{}, err
	}
	s := export.Standing{Workers: workers.Alive, Queues: map[export.Queue]export.QueueStanding{}}
	queued, running, now := string(export.Queued), string(export.Running), moment{at}
	rows, err := j.db.rows(ctx, standingQuery, queued, now, queued, now, running, queued, queued, running)
	if err != nil {
		return export.Standing{}, mapError(ctx, "count the jobs", err)
	}
	defer rows.Close()
	for rows.Next() {
		var queue string
		var q export.QueueStanding
		var first moment
		if err := rows.Scan(&queue, &q.Due, &q.Later, &q.Running, &first); err != nil {
			return export.Standing{}, mapError(ctx, "count the jobs", err)
		}
		if q.Due > 0 {
			q.Oldest = max(0, at.Sub(first.Time))
		}
		s.Queues[export.Queue(queue)] = q
	}
	return s, mapError(ctx, "count the jobs", rows.Err())
}
