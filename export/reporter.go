package export

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"rowmill/internal/telemetry"
)

// ErrLeaseLost ends a run that could not renew its lease: another worker may
// have taken the job over.
var ErrLeaseLost = errors.New("the job's lease ran out before it could be renewed")

// reporter writes a run's progress and renews its lease at a fixed pace, and
// ends the run when the job has moved on.
type reporter struct {
	attempts Attempts
	observer Observer
	fence    Fence
	phase    atomic.Value // Phase
	expected atomic.Int64
	written  atomic.Int64
	peak     atomic.Int64
	cancel   context.CancelCauseFunc
	end      context.CancelFunc
	done     sync.WaitGroup
}

// startReporter returns the context of the run, which ends with the reason, and its reporter.
func (r *Runner) startReporter(ctx context.Context, f Fence) (context.Context, *reporter) {
	ctx, cancel := context.WithCancelCause(ctx)
	beats, end := context.WithCancel(telemetry.Untraced(ctx)) // two statements a second
	rep := &reporter{attempts: r.cfg.Attempts, observer: r.cfg.Observer, fence: f, cancel: cancel, end: end}
	rep.phase.Store(PhaseSnapshot)
	rep.done.Go(func() { rep.loop(beats, r.cfg) })
	return ctx, rep
}

// stop ends the reports and waits for the one under way. The run's context stays.
func (rep *reporter) stop() {
	rep.end()
	rep.done.Wait()
}

func (rep *reporter) loop(ctx context.Context, cfg Config) {
	ticks := time.NewTicker(cfg.ReportEvery)
	defer ticks.Stop()
	lease := cfg.Now().Add(cfg.Lease)
	for {
		rep.samplePeak()
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		next := cfg.Now().Add(cfg.Lease)
		err := rep.report(ctx, next, cfg.ReportEvery*2)
		switch {
		case err == nil:
			lease = next
		case errors.Is(err, ErrFenced):
			rep.cancel(ErrFenced)
			return
		case ctx.Err() != nil:
			return
		case cfg.Now().After(lease):
			rep.cancel(ErrLeaseLost)
			return
		default:
			cfg.Logger.WarnContext(ctx, "progress could not be stored", "error", err)
		}
	}
}

func (rep *reporter) report(ctx context.Context, lease time.Time, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return rep.attempts.Report(ctx, rep.fence, Progress{Phase: rep.phase.Load().(Phase), Expected: rep.expected.Load(), Written: rep.written.Load()}, lease)
}

func (rep *reporter) enter(p Phase)  { rep.phase.Store(p) }
func (rep *reporter) expect(n int64) { rep.expected.Store(n) }

// wrote notes that n rows have gone into the file so far.
func (rep *reporter) wrote(n int64) { rep.observer.RowsWritten(n - rep.written.Swap(n)) }

// samplePeak notes how much memory the process holds.
func (rep *reporter) samplePeak() {
	if held := telemetry.HeldMemory(); held > rep.peak.Load() {
		rep.peak.Store(held)
	}
}

func (rep *reporter) peakMemory() int64 {
	rep.samplePeak()
	return rep.peak.Load()
}

// phaseClock measures how long each phase takes, in seconds.
type phaseClock struct {
	now     func() time.Time
	phase   Phase
	since   time.Time
	seconds map[Phase]float64
}

func newPhaseClock(now func() time.Time) *phaseClock {
	return &phaseClock{now: now, seconds: map[Phase]float64{}}
}

func (c *phaseClock) enter(p Phase) {
	c.end()
	c.phase, c.since = p, c.now()
}

func (c *phaseClock) end() {
	if c.phase != "" {
		c.seconds[c.phase] += c.now().Sub(c.since).Seconds()
		c.phase = ""
	}
}
