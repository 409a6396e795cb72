package jobs

import (
	"context"
	"log/slog"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Keeper removes what a big job keeps until it ends.
type Keeper interface {
	DiscardSegments(ctx context.Context, jobID string) error
}

// EndAttempts gives attempts which remove what a job has kept when they fail it.
func EndAttempts(a export.Attempts, k Keeper, log *slog.Logger) export.Attempts {
	return endingAttempts{a, ending{k, log}}
}

// EndJobs gives an ender which removes what a job has kept when it fails it.
func EndJobs(e Ender, k Keeper, log *slog.Logger) Ender { return endingJobs{e, ending{k, log}} }

type endingAttempts struct {
	export.Attempts
	ending
}

// Fail implements export.Attempts.
func (e endingAttempts) Fail(ctx context.Context, f export.Fence, why export.Failure) error {
	return e.ended(ctx, f, e.Attempts.Fail(ctx, f, why))
}

type endingJobs struct {
	Ender
	ending
}

// Fail implements Ender.
func (e endingJobs) Fail(ctx context.Context, f export.Fence, why export.Failure) error {
	return e.ended(ctx, f, e.Ender.Fail(ctx, f, why))
}

type ending struct {
	keeper Keeper
	log    *slog.Logger
}

// ended removes what is kept of a job that has been failed. What cannot be removed
// is left to the sweep of the files.
func (e ending) ended(ctx context.Context, f export.Fence, err error) error {
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := e.keeper.DiscardSegments(ctx, f.JobID); err != nil {
		e.log.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
	return nil
}

// alive reports whether the job may still need what it keeps. When in doubt it does.
func (s *Sweeper) alive(ctx context.Context, id string) bool {
	j, err := s.cfg.Table.Get(ctx, id)
	if err != nil {
		return fault.KindOf(err) != fault.NotFound
	}
	return !j.Status.Final()
}
