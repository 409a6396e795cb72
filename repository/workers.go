package repository

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"rowmill/export"
)

// forgetAfter is how long a worker that is gone is remembered: past any outage
// after which somebody asks when the last one was there.
const forgetAfter = 30 * 24 * time.Hour

// Beat says that the worker is alive, and forgets those long gone.
func (j *Jobs) Beat(ctx context.Context, worker string, at time.Time) error {
	err := j.db.gorm.WithContext(ctx).Table("workers").
		Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"seen_at"})}).
		Create(map[string]any{"id": worker, "started_at": moment{at}, "seen_at": moment{at}}).Error
	if err == nil {
		err = j.db.gorm.WithContext(ctx).Exec("DELETE FROM workers WHERE seen_at < ?", moment{at.Add(-forgetAfter)}).Error
	}
	return mapError(ctx, "say that a worker is alive", err)
}

// Workers counts the workers that have been heard of within export.WorkerLost.
func (j *Jobs) Workers(ctx context.Context, at time.Time) (export.Workers, error) {
	var w export.Workers
	var last moment
	err := j.db.gorm.WithContext(ctx).
		Raw("SELECT COUNT(CASE WHEN seen_at > ? THEN 1 END), MAX(seen_at) FROM workers", moment{at.Add(-export.WorkerLost)}).
		Row().Scan(&w.Alive, &last)
	w.LastSeen = last.Time
	return w, mapError(ctx, "count the workers", err)
}
