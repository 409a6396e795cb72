package jobs

import (
	"context"
	"fmt"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Permissions say whether a job's owner may still have what it makes.
type Permissions interface {
	// Permits returns Forbidden if not.
	Permits(ctx context.Context, job export.Job) error
	// End cancels the job because of why.
	End(ctx context.Context, job export.Job, why error) error
}

// permitted reports whether the claimed job may run. One that may not has ended. An
// error is a fault like any other of the attempt: nothing runs on a guess.
func (w *Worker) permitted(ctx context.Context, job export.Job) (bool, error) {
	if w.cfg.Permissions == nil {
		return true, nil
	}
	why := w.cfg.Permissions.Permits(ctx, job)
	switch {
	case why == nil:
		return true, nil
	case fault.KindOf(why) != fault.Forbidden:
		return false, fault.Wrap(why, fault.Unavailable, "Whether the export's owner may still have it could not be found out.")
	}
	if err := w.cfg.Permissions.End(ctx, job, why); err != nil {
		return false, fault.Wrap(fmt.Errorf("end a job that is not permitted: %w", err), fault.Unavailable, "The export's owner may no longer have it, and it could not be ended yet.")
	}
	return false, nil
}
