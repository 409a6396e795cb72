package repository

import (
	"context"
	"database/sql"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Limited gives the same jobs, of which one requester may have at most so many
// alive at once; 0 is no bound.
//
// Each new job takes a free slot from 1 to maxLive, and a unique index lets one job
// take it: so no number of simultaneous Inserts gets past the bound, and none waits
// for a lock.
func (j *Jobs) Limited(maxLive int) *Jobs {
	limited := *j
	limited.maxLive = maxLive
	return &limited
}

// freeSlot gives the lowest slot that no live job of the requester has; full is
// true if there is none. Without a bound it is NULL.
func (j *Jobs) freeSlot(ctx context.Context, requestedBy string) (slot sql.NullInt64, full bool, err error) {
	if j.maxLive == 0 {
		return slot, false, nil
	}
	rows, err := j.db.rows(ctx, "SELECT slot FROM export_jobs WHERE requested_by = ? AND status IN (?, ?)",
		requestedBy, string(export.Queued), string(export.Running))
	if err != nil {
		return slot, false, mapError(ctx, "count the live jobs", err)
	}
	defer rows.Close()
	live, taken := 0, make([]bool, j.maxLive+1)
	for rows.Next() {
		var one sql.NullInt64
		if err := rows.Scan(&one); err != nil {
			return slot, false, mapError(ctx, "count the live jobs", err)
		}
		live++ // also where a release without slots, or a larger bound, inserted it
		if one.Valid && one.Int64 <= int64(j.maxLive) {
			taken[one.Int64] = true
		}
	}
	if err := rows.Err(); err != nil {
		return slot, false, mapError(ctx, "count the live jobs", err)
	}
	if live >= j.maxLive {
		return slot, true, nil
	}
	for i, used := range taken[1:] {
		if !used {
			return sql.NullInt64{Int64: int64(i + 1), Valid: true}, false, nil
		}
	}
	return slot, true, nil
}

// atBound is the error of a requester who has as many live jobs as may be.
func (j *Jobs) atBound() error {
	return fault.New(fault.TooMany, "You have %d exports waiting or running, as many as you may have at once. Wait for one to end, or cancel one.", j.maxLive)
}
