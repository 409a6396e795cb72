package metrics

import (
	"context"
	"strconv"
	"time"

	"rowmill/export"
)

var _ export.Observer = (*Metrics)(nil)

// PhaseEnded implements export.Observer.
func (m *Metrics) PhaseEnded(p export.Phase, took time.Duration) {
	m.phases.observe(took.Seconds(), string(p))
}

// RowsWritten implements export.Observer. A run that begins anew does not take
// back what it has counted.
func (m *Metrics) RowsWritten(n int64) { m.rows.Add(float64(max(0, n))) }

// Published implements export.Observer.
func (m *Metrics) Published(r export.Receipt) {
	m.fileBytes.Observe(float64(r.Bytes))
	for kind, n := range r.Losses.Counts {
		m.losses.add(float64(n), string(kind))
	}
}

// JobEnded counts an attempt's end; it is a jobs.Ended.
func (m *Metrics) JobEnded(outcome, code string) { m.ended.add(1, outcome, code) }

// Swept counts what the sweeper did.
func (m *Metrics) Swept(action string, n int) { m.swept.add(float64(n), action) }

// APICalled counts a try of a call of the reservation API.
func (m *Metrics) APICalled(call, outcome string, took time.Duration) {
	m.calls.observe(took.Seconds(), call, outcome)
}

// PageStatements counts the statements of a page.
func (m *Metrics) PageStatements(n int64) { m.statements.Observe(float64(n)) }

// Request counts an answered request.
func (m *Metrics) Request(operation string, status int, took time.Duration) {
	m.requests.observe(took.Seconds(), operation, strconv.Itoa(status))
}

// Shed counts a request that the reservation API turned away, by its class.
func (m *Metrics) Shed(class string) { m.shed.add(1, class) }

// Segment counts what became of a segment of a big job.
func (m *Metrics) Segment(o export.SegmentOutcome) { m.segments.add(1, string(o)) }

// OrderRefused counts an order that was not taken.
func (m *Metrics) OrderRefused(reason string) { m.refused.add(1, reason) }

// CacheEvent counts what happened in a cache.
func (m *Metrics) CacheEvent(event string) { m.cache.add(1, event) }

// Kept is something that is kept for a time; it is a jobs.Kept.
type Kept interface {
	Retain(ctx context.Context, before time.Time, limit int) (int, error)
}

type countedKept struct {
	Kept
	removed func(n int)
}

func (k countedKept) Retain(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := k.Kept.Retain(ctx, before, limit)
	k.removed(n)
	return n, err
}

// Retained gives what counts, under the kind, what kept removes.
func (m *Metrics) Retained(kind string, kept Kept) Kept {
	m.retained.begin(kind)
	return countedKept{kept, func(n int) { m.retained.add(float64(n), kind) }}
}
