package repository

import (
	"context"

	"rowmill/export"
)

// Live gives the requester's queued and running jobs.
func (j *Jobs) Live(ctx context.Context, requestedBy string) ([]export.Job, error) {
	return j.find(ctx, "WHERE requested_by = ? AND status IN (?, ?)",
		requestedBy, string(export.Queued), string(export.Running))
}

// Revoke ends a queued or running job as Cancel does, and keeps why: its owner may
// no longer have it. changed is false if it had ended before.
func (j *Jobs) Revoke(ctx context.Context, id string, why export.Failure) (job export.Job, changed bool, err error) {
	failure, err := failureText(why)
	if err != nil {
		return export.Job{}, false, err
	}
	return j.end(ctx, id, why.At, map[string]any{"failure": failure})
}
