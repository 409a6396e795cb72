package repository

import (
	"context"
	"database/sql"
	"fmt"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

// Takers gives the published files that the row is in, the newest job first, each
// with those who read it. A limit that is none is Invalid. Of the sets, only one
// part is held at a time.
func (r *RowSets) Takers(ctx context.Context, q audit.TakersQuery) ([]audit.Taking, error) {
	if q.Limit < 1 || q.Limit > audit.MaxTakings {
		return nil, fault.InvalidFields("The question is not valid.",
			fault.Field{Name: "limit", Detail: fmt.Sprintf("%d is not from 1 to %d", q.Limit, audit.MaxTakings)})
	}
	ids, err := r.holding(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	jobs, err := r.jobs.find(ctx, "WHERE id IN ? ORDER BY id DESC", ids)
	if err != nil {
		return nil, err
	}
	takings := make([]audit.Taking, len(jobs))
	at := make(map[string]*audit.Taking, len(jobs))
	for i, job := range jobs {
		takings[i] = takingOf(job)
		at[job.ID] = &takings[i]
	}
	return takings, r.addEvents(ctx, ids, at)
}

// holdingBatch is how many parts of sets one statement gives: what is not read of
// them, once there are takers enough, the driver has to throw away.
const holdingBatch = 64

// holding gives the ids of the jobs whose file has the row, the newest first. The
// range of a part rules most out; the others are read and asked, one after the other.
func (r *RowSets) holding(ctx context.Context, q audit.TakersQuery) (ids []string, err error) {
	for more := true; more && len(ids) < q.Limit; {
		seen := 0
		err := r.candidates(ctx, q, func(job string, part export.RowSetPart) error {
			seen++
			q.Before = job
			in, err := part.Contains(q.ID)
			if err != nil {
				return fmt.Errorf("the set of job %s: %w", job, err)
			}
			if in && len(ids) < q.Limit {
				ids = append(ids, job)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		more = seen == holdingBatch
	}
	return ids, nil
}

// candidates gives the next parts of published sets whose range has the row. The
// parts of a set have no key in common, so each job comes once.
func (r *RowSets) candidates(ctx context.Context, q audit.TakersQuery, take func(job string, part export.RowSetPart) error) error {
	where, args := "s.dataset = ? AND s.min_id <= ? AND s.max_id >= ?", []any{q.Dataset, q.ID, q.ID}
	if q.Before != "" {
		where, args = where+" AND s.job_id < ?", append(args, q.Before)
	}
	// CROSS keeps SQLite from beginning with the jobs, which would have it sort the sets.
	rows, err := r.db.rows(ctx, "SELECT s.job_id, s.row_count, s.row_keys FROM export_row_sets s CROSS JOIN export_jobs j"+
		" ON j.id = s.job_id AND j.attempt = s.attempt AND j.status IN ('succeeded', 'expired')"+
		" WHERE "+where+" ORDER BY s.job_id DESC LIMIT ?", append(args, holdingBatch)...)
	if err != nil {
		return mapError(ctx, "read sets of rows", err)
	}
	defer rows.Close()
	for rows.Next() {
		var job string
		var part export.RowSetPart
		var keys sql.RawBytes // not kept: the driver's memory will do
		if err := rows.Scan(&job, &part.Rows, &keys); err != nil {
			return mapError(ctx, "read a set of rows", err)
		}
		part.Keys = keys
		if err := take(job, part); err != nil {
			return err
		}
	}
	return mapError(ctx, "read sets of rows", rows.Err())
}

func takingOf(j export.Job) audit.Taking {
	t := audit.Taking{
		JobID: j.ID, By: j.RequestedBy, At: j.FinishedAt, Dataset: j.Request.Dataset, Columns: j.Request.Columns,
		Personal: j.Scope.Personal, Reason: j.Request.Reason, Rows: j.RowsWritten,
	}
	if j.File != nil {
		t.Bytes, t.SHA256 = j.File.Size, j.File.SHA256
	}
	return t
}

// addEvents adds to the takings who asked for them, and who read their files.
func (r *RowSets) addEvents(ctx context.Context, jobs []string, at map[string]*audit.Taking) error {
	return r.audit.each(ctx, "WHERE job_id IN ? AND action IN ? ORDER BY at DESC, id DESC",
		[]any{jobs, []string{string(audit.Create), string(audit.Download)}}, func(e audit.Event) {
			t := at[e.JobID]
			switch {
			case e.Action == audit.Create && e.Actor == t.By:
				t.ByName = e.ActorName
			case e.Action == audit.Download:
				t.DownloadCount++
				if len(t.Downloads) < audit.MaxDownloads {
					t.Downloads = append(t.Downloads, e)
				}
			}
		})
}
