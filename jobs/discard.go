package jobs

import (
	"context"
	"log/slog"
	"time"

	"rowmill/export"
)

// SegmentDiscarder removes what a big job has kept of its segments.
type SegmentDiscarder interface {
	DiscardSegments(ctx context.Context, jobID string) error
}

// DiscardingAttempts gives the same attempts, of which one that fails its job also
// removes what the job has kept.
func DiscardingAttempts(a export.Attempts, d SegmentDiscarder, log *slog.Logger) export.Attempts {
	return discardingAttempts{a, discarding{d, log}}
}

// DiscardingEnder gives the same ender, which also removes what a job has kept that it fails.
func DiscardingEnder(e Ender, d SegmentDiscarder, log *slog.Logger) Ender {
	return discardingEnder{e, discarding{d, log}}
}

type discardingAttempts struct {
	export.Attempts
	discarding
}

// Fail implements export.Attempts.
func (a discardingAttempts) Fail(ctx context.Context, f export.Fence, why export.Failure) error {
	return a.after(ctx, f, a.Attempts.Fail(ctx, f, why))
}

type discardingEnder struct {
	Ender
	discarding
}

// Fail implements Ender.
func (e discardingEnder) Fail(ctx context.Context, f export.Fence, why export.Failure) error {
	return e.after(ctx, f, e.Ender.Fail(ctx, f, why))
}

type discarding struct {
	segments SegmentDiscarder
	log      *slog.Logger
}

// after removes what is kept of a job once it has been failed; err is what that gave.
// What cannot be removed is left to the sweep of the files.
func (d discarding) after(ctx context.Context, f export.Fence, err error) error {
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.segments.DiscardSegments(ctx, f.JobID); err != nil {
		d.log.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
	return nil
}
