package repository

import (
	"context"
	"encoding/json"
	"fmt"

	"rowmill/export"
	"rowmill/export/sheet"
)

// measuredLook is how many finished jobs are looked at for those of one dataset and
// format, which no index tells.
const measuredLook = 200

// Measured gives what the last exports of the dataset and format have cost, at most
// export.MeasuredRows, the newest first.
func (j *Jobs) Measured(ctx context.Context, dataset string, format sheet.Format) (past []export.Measured, err error) {
	rows, err := j.db.rows(ctx, "SELECT request, rows_written, COALESCE(file_size, 0), started_at, finished_at FROM export_jobs"+
		" WHERE status = ? ORDER BY created_at DESC, id DESC LIMIT ?", string(export.Succeeded), measuredLook)
	if err != nil {
		return nil, mapError(ctx, "read finished jobs", err)
	}
	defer rows.Close()
	for rows.Next() && len(past) < export.MeasuredRows {
		var request string
		var started, finished moment
		var m export.Measured
		if err := rows.Scan(&request, &m.Rows, &m.Bytes, &started, &finished); err != nil {
			return nil, mapError(ctx, "read a finished job", err)
		}
		var asked export.Request
		if err := json.Unmarshal([]byte(request), &asked); err != nil {
			return nil, fmt.Errorf("decode a request: %w", err)
		}
		if asked.Dataset != dataset || asked.Format != format {
			continue
		}
		m.Columns, m.Took = len(asked.Columns), finished.Sub(started.Time)
		past = append(past, m)
	}
	return past, mapError(ctx, "read finished jobs", rows.Err())
}
