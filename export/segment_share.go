package export

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// shared is a job whose segments other workers make too.
type shared struct {
	mu     sync.Mutex
	states map[int]SegmentState
	at     time.Time // of the states
	from   int       // segments before it are in the file
}

// share asks the other workers to help with a job that is big enough. If they
// cannot be asked, the job is made here.
func (a *attempt) share(ctx context.Context) {
	c := a.cfg.Segments
	if a.segs == nil || c.SpreadRows <= 0 || a.snapshot.Total < c.SpreadRows {
		return
	}
	plan := make([]SegmentState, len(a.segs.index))
	for i := range plan {
		plan[i] = SegmentState{Segment: i, Snapshot: a.segs.snapshot, Done: a.segs.stored[i]}
	}
	if err := c.Plans.Plan(ctx, a.fence, plan); err != nil {
		a.cfg.Logger.WarnContext(ctx, "a big job is made without the other workers", "attempt", a.job.Attempt, "error", err)
		return
	}
	a.shared = &shared{}
	for _, s := range plan {
		if s.Done {
			continue
		}
		if err := c.Sender.SendSegment(ctx, a.job, s.Segment); err != nil {
			a.cfg.Logger.WarnContext(ctx, "other workers are not told of all segments", "segment", s.Segment, "error", err)
			return
		}
	}
}

// obtainShared gives a segment that others may make: what is done is read, what
// nobody makes is made here, and what somebody makes is waited for.
func (a *attempt) obtainShared(ctx context.Context, segment int) (*part, error) {
	for {
		state, known, err := a.state(ctx, segment)
		switch {
		case err != nil: // the reporter says when it has lasted too long
			a.cfg.Logger.WarnContext(ctx, "the states of the segments cannot be read", "error", err)
		case !known:
			return a.makeAndKeep(ctx, segment)
		case state.Done:
			return a.readOrMake(ctx, segment)
		case state.free(a.cfg.Now()):
			p, err := a.claimAndMake(ctx, state)
			if !errors.Is(err, ErrFenced) {
				return p, err
			}
			a.forgetStates() // somebody was faster
		}
		if err := pause(ctx, a.cfg.ReportEvery/2); err != nil {
			return nil, err
		}
	}
}

// readOrMake gives a segment that is said to be stored.
func (a *attempt) readOrMake(ctx context.Context, segment int) (*part, error) {
	p, ok := a.read(ctx, segment)
	if !ok {
		return a.makeAndKeep(ctx, segment)
	}
	p.elsewhere = p.Attempt == a.job.Attempt
	return p, nil
}

// claimAndMake makes a segment that nobody else makes meanwhile; ErrFenced if
// somebody does. That it loses its claim does not end it: the job is its own.
func (a *attempt) claimAndMake(ctx context.Context, s SegmentState) (p *part, err error) {
	claim := SegmentClaim{Fence: a.fence, Segment: s.Segment, Worker: a.cfg.Segments.Worker}
	now := a.cfg.Now()
	if _, err := a.cfg.Segments.Claims.Claim(ctx, claim, now, now.Add(a.cfg.Lease)); err != nil {
		if errors.Is(err, ErrFenced) {
			return nil, err
		}
		a.cfg.Logger.WarnContext(ctx, "a segment is made without a claim", "segment", s.Segment, "error", err)
		return a.makeAndKeep(ctx, s.Segment)
	}
	if !s.LeaseUntil.IsZero() {
		a.cfg.Segments.Count(SegmentLost)
		a.cfg.Logger.WarnContext(ctx, "a segment's worker has fallen silent", "segment", s.Segment, "worker", s.Worker)
	}
	err = a.held(ctx, claim, nil, func(ctx context.Context) error {
		p, err = a.makeAndKeep(ctx, s.Segment)
		return err
	})
	if p != nil && err != nil { // it is whole, whatever the table thinks of it
		a.cfg.Logger.WarnContext(ctx, "it could not be told that a segment is done", "segment", s.Segment, "error", err)
		err = nil
	}
	return p, err
}

// state gives where a segment stands. One statement tells it of all segments, and
// is not asked again within half a report.
func (a *attempt) state(ctx context.Context, segment int) (s SegmentState, known bool, err error) {
	sh := a.shared
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := a.cfg.Now()
	if sh.states == nil || now.Sub(sh.at) >= a.cfg.ReportEvery/2 {
		found, err := a.cfg.Segments.Plans.States(ctx, a.fence, sh.from)
		if err != nil {
			return SegmentState{}, false, err
		}
		sh.states, sh.at = make(map[int]SegmentState, len(found)), now
		for _, f := range found {
			sh.states[f.Segment] = f
		}
	}
	s, known = sh.states[segment]
	return s, known, nil
}

// passed notes that the segment is in the file: nobody asks for it any more.
func (s *shared) passed(segment int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = segment + 1
}

func (a *attempt) forgetStates() {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.shared.states = nil
}

// held runs do while it renews the claim, and then tells what became of it. lost
// is told when the claim is another's or the job has moved on; nil: that is borne.
func (r *Runner) held(ctx context.Context, c SegmentClaim, lost func(error), do func(context.Context) error) error {
	beats, end := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { r.renew(beats, c, lost) })
	err := do(ctx)
	end()
	renewing.Wait()
	if err == nil {
		err = r.cfg.Segments.Claims.Done(ctx, c, r.cfg.Now())
		if err != nil && !errors.Is(err, ErrFenced) {
			err = fmt.Errorf("say that segment %d is done: %w", c.Segment, err)
		}
	}
	if err != nil && !errors.Is(err, ErrFenced) {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if freeErr := r.cfg.Segments.Claims.Free(after, c); freeErr != nil && !errors.Is(freeErr, ErrFenced) {
			r.cfg.Logger.WarnContext(ctx, "a segment is free when its lease has passed", "segment", c.Segment, "error", freeErr)
		}
	}
	return err
}

// renew extends the claim until ctx ends or it is lost.
func (r *Runner) renew(ctx context.Context, c SegmentClaim, lost func(error)) {
	ticks := time.NewTicker(r.cfg.ReportEvery)
	defer ticks.Stop()
	lease := r.cfg.Now().Add(r.cfg.Lease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		next := r.cfg.Now().Add(r.cfg.Lease)
		limit, cancel := context.WithTimeout(ctx, 2*r.cfg.ReportEvery)
		err := r.cfg.Segments.Claims.Renew(limit, c, next)
		cancel()
		switch {
		case err == nil:
			lease = next
			continue
		case ctx.Err() != nil:
			return
		case !errors.Is(err, ErrFenced) && !r.cfg.Now().After(lease):
			continue
		case !errors.Is(err, ErrFenced):
			err = ErrLeaseLost
		}
		if lost != nil {
			lost(err)
		}
		return
	}
}

// pause waits, or gives why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
