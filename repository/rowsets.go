package repository

import (
	"context"
	"slices"
	"strings"
	"time"

	"rowmill/export"
)

// RowSets is the table of which rows are in which files. A set is that of an
// attempt; it says what is in a file if the job has ended in success with that
// attempt, and else nothing.
type RowSets struct {
	jobs  *Jobs
	audit *Audit
	db    *DB
}

// NewRowSets gives the sets of the database.
func NewRowSets(db *DB) *RowSets {
	return &RowSets{jobs: NewJobs(db), audit: NewAudit(db), db: db}
}

var _ export.RowSets = (*RowSets)(nil)

// Put implements export.RowSets. Each part is a statement of its own: a set that
// has only some of its parts belongs to an attempt that published nothing.
func (r *RowSets) Put(ctx context.Context, f export.Fence, set export.RowSet) error {
	for n, part := range set.Parts {
		err := r.db.gorm.WithContext(ctx).Exec("INSERT INTO export_row_sets"+
			" (job_id, attempt, part, dataset, min_id, max_id, row_count, created_at, row_keys) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			f.JobID, f.Attempt, n, set.Dataset, part.Min, part.Max, part.Rows, moment{set.At}, part.Keys).Error
		if err != nil {
			return mapError(ctx, "store a set of rows", err)
		}
	}
	return nil
}

// useless finds the sets of attempts that neither published a file nor can still
// do so, and those from before a time of whose job the audit holds nothing any more.
const useless = "SELECT DISTINCT s.job_id, s.attempt FROM export_row_sets s WHERE" +
	" NOT EXISTS (SELECT 1 FROM export_jobs j WHERE j.id = s.job_id AND j.attempt = s.attempt AND j.status IN ('running', 'succeeded', 'expired'))" +
	" OR (s.created_at < ? AND NOT EXISTS (SELECT 1 FROM audit_events e WHERE e.job_id = s.job_id)) LIMIT ?"

// Retain removes up to limit of the sets that nobody will ask for: those of
// attempts that published nothing, and those from before the time, unless the
// audit still holds something of their job. It says how many. Call it after the
// Retain of the Audit.
func (r *RowSets) Retain(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	old, err := r.fences(ctx, useless, moment{before}, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	for run := range slices.Chunk(old, setsAStatement) {
		if err := r.remove(ctx, run); err != nil {
			return removed, err
		}
		removed += len(run)
	}
	return removed, nil
}

// setsAStatement keeps a condition well under the depth that SQLite takes (1,000).
const setsAStatement = 200

func (r *RowSets) remove(ctx context.Context, sets []export.Fence) error {
	var args []any
	for _, f := range sets {
		args = append(args, f.JobID, f.Attempt)
	}
	each := "(job_id = ? AND attempt = ?)"
	err := r.db.gorm.WithContext(ctx).Exec("DELETE FROM export_row_sets WHERE "+each+strings.Repeat(" OR "+each, len(sets)-1), args...).Error
	return mapError(ctx, "remove sets of rows", err)
}

func (r *RowSets) fences(ctx context.Context, query string, args ...any) (found []export.Fence, err error) {
	rows, err := r.db.rows(ctx, query, args...)
	if err != nil {
		return nil, mapError(ctx, "look for sets of rows", err)
	}
	defer rows.Close()
	for rows.Next() {
		var f export.Fence
		if err := rows.Scan(&f.JobID, &f.Attempt); err != nil {
			return nil, mapError(ctx, "look for sets of rows", err)
		}
		found = append(found, f)
	}
	return found, mapError(ctx, "look for sets of rows", rows.Err())
}
