package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rowmill/internal/fault"
)

// refusedFor is how long no segment is made for others after the store has not
// taken one: its pages would be fetched for nothing.
const refusedFor = 30 * time.Second

// MakeSegment makes a segment of a spread job for the attempt that joins it, and
// stores it. ErrFenced means that there is nothing to be made: the job no longer
// runs in the attempt, or somebody else makes the segment or has made it. After
// any other error the segment is free for others.
func (r *Runner) MakeSegment(ctx context.Context, f Fence, segment int) error {
	c := r.cfg.Segments
	if c.SpreadRows <= 0 {
		return fmt.Errorf("no job is spread here: %w", ErrFenced)
	}
	if r.cfg.Now().UnixNano() < r.refusedUntil.Load() {
		return fmt.Errorf("the file store keeps no segments: %w", ErrFenced)
	}
	job, err := c.Jobs.Get(ctx, f.JobID)
	if fault.KindOf(err) == fault.NotFound || err == nil && (job.Status != Running || job.Attempt != f.Attempt) {
		return ErrFenced
	}
	if err != nil {
		return fmt.Errorf("read the job of a segment: %w", err)
	}
	w := work{Runner: r, job: job}
	if w.plan, err = r.planOf(job.Request); err != nil {
		return err
	}
	claim := SegmentClaim{Fence: f, Segment: segment, Worker: c.Worker}
	now := r.cfg.Now()
	snapshot, err := c.Claims.Claim(ctx, claim, now, now.Add(r.cfg.Lease))
	if err != nil {
		return fmt.Errorf("claim segment %d: %w", segment, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = r.held(ctx, claim, cancel, func(ctx context.Context) error { return w.makeFor(ctx, snapshot, segment) })
	if cause := context.Cause(ctx); cause != nil && err != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	if errors.Is(err, ErrFenced) {
		r.discardEnded(ctx, f.JobID)
	}
	return err
}

// makeFor makes a segment of the stored snapshot.
func (w *work) makeFor(ctx context.Context, snapshot, segment int) error {
	s, list, err := w.openSegmented(ctx, snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = list.close() }() // only read
	p, err := w.makePart(ctx, s, segment)
	if err != nil {
		return err
	}
	if err := w.keepPart(ctx, p); err != nil {
		if ctx.Err() != nil { // the job has moved on, or the worker ends: the store has refused nothing
			return fmt.Errorf("keep segment %d: %w", segment, err)
		}
		w.refusedUntil.Store(w.cfg.Now().Add(refusedFor).UnixNano())
		return fmt.Errorf("keep segment %d: %w", segment, err)
	}
	return nil
}
