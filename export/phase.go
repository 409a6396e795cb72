package export

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"rowmill/internal/telemetry"
)

// Observer is told what runs do, to count it. Its methods are safe for concurrent
// use and quick.
type Observer interface {
	// PhaseEnded tells of a phase that has done its work.
	PhaseEnded(p Phase, took time.Duration)
	// RowsWritten tells of rows that have gone into a file.
	RowsWritten(n int64)
	// Published tells of a file that can be downloaded from now on.
	Published(r Receipt)
}

type unobserved struct{}

func (unobserved) PhaseEnded(Phase, time.Duration) {}
func (unobserved) RowsWritten(int64)               {}
func (unobserved) Published(Receipt)               {}

// step is the phase that an attempt is in, as those see it who watch it.
type step struct {
	ctx   context.Context // of the phase, which its span and its line belong to
	phase Phase
	began time.Time
	span  *telemetry.Span
}

// enter ends the phase before and begins one, whose context it gives.
func (a *attempt) enter(ctx context.Context, p Phase) context.Context {
	a.leave(nil)
	a.clock.enter(p)
	a.rep.enter(p)
	ctx, span := telemetry.Start(ctx, "export "+string(p), telemetry.Internal)
	a.step = step{ctx: ctx, phase: p, began: a.cfg.Now(), span: span}
	return ctx
}

// leave ends the phase, if there is one. What it did is told unless it failed.
func (a *attempt) leave(err error) {
	s := a.step
	if s.phase == "" {
		return
	}
	a.step = step{}
	if s.phase == PhaseFetch {
		s.span.Set(a.pages.summary()...)
	}
	if err == nil {
		took := a.cfg.Now().Sub(s.began)
		a.cfg.Observer.PhaseEnded(s.phase, took)
		a.tell(s, took)
	}
	s.span.End(err)
}

// tell logs a phase's work: one line each, whatever the number of pages.
func (a *attempt) tell(s step, took time.Duration) {
	log, r := a.cfg.Logger.With("attempt", a.job.Attempt, "seconds", took.Seconds()), a.receipt
	switch s.phase {
	case PhaseSnapshot:
		log.InfoContext(s.ctx, "snapshot taken", "rows", r.Expected)
	case PhaseFetch:
		log.InfoContext(s.ctx, "fetch done", "rows", r.Written, "pages", r.Pages, "statements", r.Statements, "deleted_meanwhile", r.DeletedMeanwhile)
	case PhaseVerify:
		log.InfoContext(s.ctx, "file verified", "rows", r.Written, "bytes", r.Bytes)
	case PhasePublish:
		a.cfg.Observer.Published(r)
		log.InfoContext(s.ctx, "file published", "rows", r.Written, "bytes", r.Bytes, "total_seconds", total(r.Seconds))
	}
}

func total(seconds map[Phase]float64) (sum float64) {
	for _, s := range seconds {
		sum += s
	}
	return sum
}

// tracedPages is how many pages of a run have a span each. Of later ones those
// have one whose number is a power of two, so that a job of a thousand pages is
// told by 22 and not by many thousand spans, its statements' included.
const tracedPages = 16

// pageTracer begins the spans of pages and knows of all pages what they took.
type pageTracer struct {
	mu      sync.Mutex
	begun   int
	ended   int
	failed  int
	sum     time.Duration
	slowest time.Duration
}

// begin gives the context of the next page's fetch and what ends it.
func (t *pageTracer) begin(ctx context.Context, rows int, now func() time.Time) (context.Context, func(error)) {
	t.mu.Lock()
	t.begun++
	n := t.begun
	t.mu.Unlock()
	began := now()
	var span *telemetry.Span
	if n <= tracedPages || bits.OnesCount(uint(n)) == 1 {
		ctx, span = telemetry.Start(ctx, "fetch page", telemetry.Internal, telemetry.Number("page", n), telemetry.Number("rows", rows))
	} else {
		ctx = telemetry.Untraced(ctx)
	}
	return ctx, func(err error) {
		span.End(err)
		t.end(now().Sub(began), err)
	}
}

func (t *pageTracer) end(took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended++
	t.sum += took
	t.slowest = max(t.slowest, took)
	if err != nil {
		t.failed++
	}
}

// summary tells of all pages, those without a span too.
func (t *pageTracer) summary() []telemetry.Attr {
	t.mu.Lock()
	defer t.mu.Unlock()
	mean := time.Duration(0)
	if t.ended > 0 {
		mean = t.sum / time.Duration(t.ended)
	}
	return []telemetry.Attr{telemetry.Number("pages", t.ended), telemetry.Number("pages_failed", t.failed),
		telemetry.Seconds("page_seconds_mean", mean), telemetry.Seconds("page_seconds_max", t.slowest)}
}
