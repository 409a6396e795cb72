package repository

import (
	"context"
	"slices"
	"strings"
	"time"

	"rowmill/export"
)

// Segments is the table of the segments of spread jobs. Its writes are
// compare-and-sets as those of Jobs, and hold only while the job runs in the
// segments' attempt: so a job that has moved on ends those who make its segments.
type Segments struct{ db *DB }

// NewSegments gives the segments of the database.
func NewSegments(db *DB) *Segments { return &Segments{db: db} }

var (
	_ export.SegmentPlans  = (*Segments)(nil)
	_ export.SegmentClaims = (*Segments)(nil)
)

// runs is the condition that a job runs in an attempt.
const runs = "EXISTS (SELECT 1 FROM export_jobs j WHERE j.id = ? AND j.attempt = ? AND j.status = 'running')"

// segmentsAStatement keeps an INSERT well under the variables that SQLite takes (32,766).
const segmentsAStatement = 500

// Plan implements export.SegmentPlans. Segments of earlier attempts are removed
// first: whoever makes one of them is refused from then on.
func (s *Segments) Plan(ctx context.Context, f export.Fence, segments []export.SegmentState) error {
	done := s.db.gorm.WithContext(ctx).Exec("DELETE FROM export_segments WHERE job_id = ? AND attempt <= ?", f.JobID, f.Attempt)
	if done.Error != nil {
		return mapError(ctx, "remove the segments of earlier attempts", done.Error)
	}
	for run := range slices.Chunk(segments, segmentsAStatement) {
		if err := s.insert(ctx, f, run); err != nil {
			return err
		}
	}
	return nil
}

func (s *Segments) insert(ctx context.Context, f export.Fence, segments []export.SegmentState) error {
	const row = "SELECT ? AS segment, ? AS snapshot, ? AS done_at"
	args := []any{f.JobID, f.Attempt}
	for _, segment := range segments {
		var done any
		if segment.Done {
			done = moment{time.Unix(0, 0)} // before this attempt
		}
		args = append(args, segment.Segment, segment.Snapshot, done)
	}
	args = append(args, f.JobID, f.Attempt)
	done := s.db.gorm.WithContext(ctx).Exec("INSERT INTO export_segments (job_id, attempt, segment, snapshot, worker, done_at)"+
		" SELECT ?, ?, n.segment, n.snapshot, '', n.done_at FROM ("+row+strings.Repeat(" UNION ALL "+row, len(segments)-1)+") n WHERE "+runs, args...)
	return fencedRows(ctx, "plan the segments of a job", done, len(segments))
}

// States implements export.SegmentPlans.
func (s *Segments) States(ctx context.Context, f export.Fence, from int) (states []export.SegmentState, err error) {
	rows, err := s.db.rows(ctx, "SELECT segment, snapshot, worker, lease_until, done_at IS NOT NULL FROM export_segments"+
		" WHERE job_id = ? AND attempt = ? AND segment >= ? ORDER BY segment", f.JobID, f.Attempt, from)
	if err != nil {
		return nil, mapError(ctx, "read the segments of a job", err)
	}
	defer rows.Close()
	for rows.Next() {
		var state export.SegmentState
		var lease moment
		if err := rows.Scan(&state.Segment, &state.Snapshot, &state.Worker, &lease, &state.Done); err != nil {
			return nil, mapError(ctx, "read a segment", err)
		}
		state.LeaseUntil = lease.Time
		states = append(states, state)
	}
	return states, mapError(ctx, "read the segments of a job", rows.Err())
}

// Forget implements export.SegmentPlans.
func (s *Segments) Forget(ctx context.Context, jobID string) error {
	return mapError(ctx, "remove the segments of a job", s.db.gorm.WithContext(ctx).Exec("DELETE FROM export_segments WHERE job_id = ?", jobID).Error)
}

// Claim implements export.SegmentClaims.
func (s *Segments) Claim(ctx context.Context, c export.SegmentClaim, at, leaseUntil time.Time) (snapshot int, err error) {
	err = s.write(ctx, "claim a segment", c, "worker = ?, lease_until = ?", []any{c.Worker, moment{leaseUntil}},
		"(lease_until IS NULL OR lease_until < ?)", moment{at})
	if err != nil {
		return 0, err
	}
	err = s.db.gorm.WithContext(ctx).Raw("SELECT COALESCE(MAX(snapshot), 0) FROM export_segments WHERE job_id = ? AND attempt = ? AND segment = ?", c.JobID, c.Attempt, c.Segment).
		Row().Scan(&snapshot)
	if err == nil && snapshot == 0 {
		err = export.ErrFenced // forgotten in between
	}
	return snapshot, mapError(ctx, "read a claimed segment", err)
}

// Renew implements export.SegmentClaims.
func (s *Segments) Renew(ctx context.Context, c export.SegmentClaim, leaseUntil time.Time) error {
	return s.write(ctx, "renew the claim of a segment", c, "lease_until = ?", []any{moment{leaseUntil}}, "worker = ?", c.Worker)
}

// Done implements export.SegmentClaims.
func (s *Segments) Done(ctx context.Context, c export.SegmentClaim, at time.Time) error {
	return s.write(ctx, "end a segment", c, "done_at = ?, lease_until = NULL", []any{moment{at}}, "worker = ?", c.Worker)
}

// Free implements export.SegmentClaims.
func (s *Segments) Free(ctx context.Context, c export.SegmentClaim) error {
	return s.write(ctx, "free a segment", c, "worker = '', lease_until = NULL", nil, "worker = ?", c.Worker)
}

// write changes a segment that is not done, if its job still runs in its attempt
// and the condition holds.
func (s *Segments) write(ctx context.Context, doing string, c export.SegmentClaim, set string, values []any, condition string, arg any) error {
	args := append(values, c.JobID, c.Attempt, c.Segment, arg, c.JobID, c.Attempt)
	return fenced(ctx, doing, s.db.gorm.WithContext(ctx).Exec("UPDATE export_segments SET "+set+
		" WHERE job_id = ? AND attempt = ? AND segment = ? AND done_at IS NULL AND "+condition+" AND "+runs, args...))
}

// Retain removes the segments of up to limit jobs that are not alive, whenever
// they ended, and says of how many: the last resort where nobody else did.
func (s *Segments) Retain(ctx context.Context, _ time.Time, limit int) (removed int, err error) {
	ended, err := s.ended(ctx, limit)
	if err != nil {
		return 0, mapError(ctx, "look for segments of ended jobs", err)
	}
	for _, id := range ended {
		if err := s.Forget(ctx, id); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

func (s *Segments) ended(ctx context.Context, limit int) (ids []string, err error) {
	rows, err := s.db.rows(ctx, "SELECT DISTINCT s.job_id FROM export_segments s WHERE NOT EXISTS"+
		" (SELECT 1 FROM export_jobs j WHERE j.id = s.job_id AND j.status IN ('queued', 'running')) LIMIT ?", limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
