package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// SweptTable is the part of the job table that shows what needs care.
type SweptTable interface {
	// Due gives the queued jobs whose time has come, the longest first, from after the given one on.
	Due(ctx context.Context, at time.Time, after export.Job, limit int) ([]export.Job, error)
	Lost(ctx context.Context, at time.Time, limit int) ([]export.Job, error)
	Expirable(ctx context.Context, at time.Time, limit int) ([]export.Job, error)
	Get(ctx context.Context, id string) (export.Job, error)
}

// Backlog is how much there is to do.
type Backlog interface {
	// Unfinished counts the jobs of each queue that wait, due or not, or run.
	Unfinished(ctx context.Context) (map[export.Queue]int, error)
}

// Ender ends jobs and attempts for others.
type Ender interface {
	Expire(ctx context.Context, id string, at time.Time) error
	Release(ctx context.Context, f export.Fence, runAt time.Time, why *export.Failure) error
	Fail(ctx context.Context, f export.Fence, why export.Failure) error
}

// SweptFiles is the part of the file store that shows what was left behind.
type SweptFiles interface {
	Delete(ctx context.Context, key string) error
	// Sweep removes what is older than the time and that keep denies, and says how many.
	Sweep(ctx context.Context, olderThan time.Time, keep func(key string) bool) (int, error)
}

// Kept is something that is kept for a time and no longer.
type Kept interface {
	// Retain removes up to limit of what is from before the time, and says how many.
	Retain(ctx context.Context, before time.Time, limit int) (int, error)
}

// SweeperConfig is what a Sweeper needs.
type SweeperConfig struct {
	Table   SweptTable
	Backlog Backlog
	Ender   Ender
	Files   SweptFiles
	Queue   *Queue
	Logger  *slog.Logger

	Every       time.Duration // default 5 s
	FilesEvery  time.Duration // between two looks through the file store; default 10 min
	FilesAge    time.Duration // a file without a job is left alone until this old; default 1 h
	MaxFailures int           // as the worker's

	Kept           []Kept        // what the audit and ended jobs leave, swept one after the other; nil: none
	AuditRetention time.Duration // how long that is kept; default 17,520 h, two years
	AuditEvery     time.Duration // between two looks; default 1 h

	Did   func(action string, n int) // of "lost", "resent", "expired", "files-removed"; nil: nobody counts
	Ended Ended                      // of jobs that lost too many workers

	Now func() time.Time
}

// sweepBatch is how many jobs one sweep takes up of each kind.
const sweepBatch = 200

// Sweeper mends what a crash or a lost message left behind. Any number of
// sweepers may run beside each other: all they do is compare-and-set or can be
// done twice.
type Sweeper struct {
	cfg       SweeperConfig
	filesNext time.Time
	auditNext time.Time
	lent      lent
}

// NewSweeper returns a sweeper that does nothing before Run.
func NewSweeper(c SweeperConfig) *Sweeper {
	c.Every = cmp.Or(c.Every, 5*time.Second)
	c.FilesEvery = cmp.Or(c.FilesEvery, 10*time.Minute)
	c.FilesAge = cmp.Or(c.FilesAge, time.Hour)
	c.MaxFailures = cmp.Or(c.MaxFailures, DefaultMaxFailures)
	c.AuditRetention = cmp.Or(c.AuditRetention, DefaultAuditRetention)
	c.AuditEvery = cmp.Or(c.AuditEvery, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Sweeper{cfg: c}
}

// Run sweeps at once and then at its pace until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	ticks := time.NewTicker(s.cfg.Every)
	defer ticks.Stop()
	for {
		if err := s.runOnce(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "a sweep is left for the next one", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// runOnce takes up each kind of leftover; one that fails does not stop the others.
func (s *Sweeper) runOnce(ctx context.Context) error {
	return errors.Join(s.recoverLost(ctx), s.resend(ctx), s.expire(ctx), s.sweepFiles(ctx), s.sweepAudit(ctx))
}

// recoverLost gives the jobs of silent workers to others.
func (s *Sweeper) recoverLost(ctx context.Context) error {
	now := s.cfg.Now()
	lost, err := s.cfg.Table.Lost(ctx, now, sweepBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range lost {
		ctx := telemetry.WithJob(telemetry.WithTraceParent(ctx, j.TraceParent), j.ID)
		fence, why := export.Fence{JobID: j.ID, Attempt: j.Attempt}, workerLost(now)
		s.cfg.Logger.WarnContext(ctx, "a running job has lost its worker", "attempt", j.Attempt, "lease_until", j.LeaseUntil)
		if j.Failures+1 >= s.cfg.MaxFailures {
			if err = s.cfg.Ender.Fail(ctx, fence, *why); err == nil {
				s.cfg.Ended.tell("failed", why.Code)
			}
		} else {
			err = s.cfg.Ender.Release(ctx, fence, now, why)
		}
		if err == nil {
			s.did("lost", 1)
			err = s.cfg.Files.Delete(ctx, export.FileKey(j))
		}
		// Fenced, it may have published its file at the last moment.
		if err != nil && !errors.Is(err, export.ErrFenced) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// expire removes files whose time is over: first the state, so that no link leads to nothing.
func (s *Sweeper) expire(ctx context.Context) error {
	now := s.cfg.Now()
	old, err := s.cfg.Table.Expirable(ctx, now, sweepBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range old {
		if err := s.cfg.Ender.Expire(ctx, j.ID, now); err != nil {
			errs = append(errs, err)
			continue
		}
		s.did("expired", 1)
		s.cfg.Logger.InfoContext(telemetry.WithJob(telemetry.WithTraceParent(ctx, j.TraceParent), j.ID), "export expired", "attempt", j.Attempt)
		if j.File != nil {
			errs = append(errs, s.cfg.Files.Delete(ctx, j.File.Key))
		}
	}
	return errors.Join(errs...)
}

// sweepFiles removes files that no job owns, and what a crash left half-written.
func (s *Sweeper) sweepFiles(ctx context.Context) error {
	now := s.cfg.Now()
	if now.Before(s.filesNext) {
		return nil
	}
	s.filesNext = now.Add(s.cfg.FilesEvery)
	removed, err := s.cfg.Files.Sweep(ctx, now.Add(-s.cfg.FilesAge), func(key string) bool { return s.owned(ctx, key) })
	s.did("files-removed", removed)
	if removed > 0 {
		s.cfg.Logger.InfoContext(ctx, "files without a job were removed", "files", removed)
	}
	return err
}

// owned reports whether a job has, or may still get, the file. When in doubt it has.
func (s *Sweeper) owned(ctx context.Context, key string) bool {
	if id, ok := export.JobOfChunk(key); ok {
		return s.alive(ctx, id)
	}
	id, ok := export.JobOfFile(key)
	if !ok {
		return true // not ours
	}
	j, err := s.cfg.Table.Get(ctx, id)
	switch {
	case err != nil:
		return fault.KindOf(err) != fault.NotFound
	case j.Status == export.Succeeded:
		return j.File != nil && j.File.Key == key
	default:
		return j.Status == export.Running && export.FileKey(j) == key
	}
}

// alive reports whether the job may still need what it keeps. When in doubt it does.
func (s *Sweeper) alive(ctx context.Context, id string) bool {
	j, err := s.cfg.Table.Get(ctx, id)
	if err != nil {
		return fault.KindOf(err) != fault.NotFound
	}
	return !j.Status.Final()
}
