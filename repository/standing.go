package repository

import (
	"context"
	"time"

	"rowmill/export"
)

// standingQuery reads only jobs that are alive, however many have ended: the queues
// are named for the sake of the index over queue and status.
const standingQuery = "SELECT queue, COUNT(CASE WHEN status = ? AND run_at <= ? THEN 1 END), COUNT(CASE WHEN status = ? AND run_at > ? THEN 1 END)," +
	" COUNT(CASE WHEN status = ? THEN 1 END), MIN(CASE WHEN status = ? THEN run_at END)" +
	" FROM export_jobs WHERE queue IN (?, ?) AND status IN (?, ?) GROUP BY queue"

// Standing counts the jobs that are alive, by queue, and the workers.
func (j *Jobs) Standing(ctx context.Context, at time.Time) (export.Standing, error) {
	workers, err := j.Workers(ctx, at)
	if err != nil {
		return export.Standing{}, err
	}
	s := export.Standing{Workers: workers.Alive, Queues: map[export.Queue]export.QueueStanding{}}
	queued, running, now := string(export.Queued), string(export.Running), moment{at}
	rows, err := j.db.rows(ctx, standingQuery, queued, now, queued, now, running, queued,
		string(export.QueueSmall), string(export.QueueLarge), queued, running)
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
			q.Oldest = max(0, at.Sub(first.Time)).Truncate(time.Microsecond)
		}
		s.Queues[export.Queue(queue)] = q
	}
	return s, mapError(ctx, "count the jobs", rows.Err())
}
