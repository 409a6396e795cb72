package repository

import (
	"context"
	"errors"
	"sync"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Bounded gives the same jobs, of which no more may be alive at once than the
// bounds allow, whoever asked for them.
//
// The bounds are not exact. What is alive is counted at most each second (ten times
// a second while an order would be past them) and what this process inserts is added
// to it. So they may be passed by what other gateways insert within a second, and by
// the orders that are stored at the same moment: by hundreds, never by thousands,
// which is little beside bounds that keep a database from filling.
func (j *Jobs) Bounded(b export.Bounds) *Jobs {
	bounded := *j
	bounded.room = &room{bounds: b, now: time.Now}
	return &bounded
}

// How old what is known of the load may be: to take an order on, and to refuse one.
// A count takes some milliseconds where as many jobs wait as by default may.
const (
	loadAge     = time.Second
	fullLoadAge = 100 * time.Millisecond
)

// room is what is known of the live jobs. It is safe for concurrent use; nil has no bounds.
type room struct {
	bounds export.Bounds
	now    func() time.Time

	mu      sync.Mutex
	known   export.Load
	counted time.Time
}

// admit gives an error of the kind Full if one more job of so many rows is too much.
func (r *room) admit(ctx context.Context, j *Jobs, rows int64) error {
	if r == nil || r.bounds == (export.Bounds{}) {
		return nil
	}
	r.mu.Lock()
	known, age := r.known, r.now().Sub(r.counted)
	r.mu.Unlock()
	err := r.bounds.Admit(known, rows)
	if age > loadAge || err != nil && age > fullLoadAge {
		begun := r.now()
		var countErr error
		if known, countErr = j.countLoad(ctx); countErr != nil {
			return countErr
		}
		r.mu.Lock()
		r.known, r.counted = known, begun
		r.mu.Unlock()
		err = r.bounds.Admit(known, rows)
	}
	if err == nil {
		return nil
	}
	return fullFault(err, known, r.bounds)
}

// add counts a job that has been inserted.
func (r *room) add(rows int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.Jobs++
	r.known.Rows += rows
}

func fullFault(err error, l export.Load, b export.Bounds) error {
	if full, ok := errors.AsType[*export.FullError](err); ok && full.Reason == export.TooManyQueuedRows {
		return fault.Wrap(err, fault.Full, "The exports of all users that wait or run have %d rows, and together they may have %d. Ask again later, or narrow the filter.", l.Rows, b.Rows)
	}
	return fault.Wrap(err, fault.Full, "%d exports of all users wait or run, as many as are taken on at once. Ask again later.", l.Jobs)
}

// countLoad counts the live jobs and their rows.
func (j *Jobs) countLoad(ctx context.Context) (l export.Load, err error) {
	err = j.db.gorm.WithContext(ctx).Raw("SELECT COUNT(*), COALESCE(SUM(rows_expected), 0) FROM export_jobs WHERE status IN (?, ?)",
		string(export.Queued), string(export.Running)).Row().Scan(&l.Jobs, &l.Rows)
	return l, mapError(ctx, "count the live jobs and their rows", err)
}
