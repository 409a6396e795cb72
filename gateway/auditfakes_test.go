package gateway_test

import (
	"context"
	"iter"
	"slices"
	"sync"

	"rowmill/audit"
	"rowmill/gateway"
)

// fakeAudit is an audit in memory.
type fakeAudit struct {
	mu      sync.Mutex
	events  []audit.Event // in the order of their recording
	err     error         // of recording
	readErr error         // of reading, after readable events
	asked   []audit.Query
	takings []audit.Taking
	takers  []audit.TakersQuery
}

func (f *fakeAudit) Record(_ context.Context, e audit.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.events = append(f.events, e)
	}
	return f.err
}

func (f *fakeAudit) recorded() []audit.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

func (f *fakeAudit) List(_ context.Context, q audit.Query) ([]audit.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	if f.readErr != nil {
		return nil, f.readErr
	}
	events := slices.Clone(f.events)
	slices.Reverse(events)
	return events[:min(q.Limit, len(events))], q.Check()
}

func (f *fakeAudit) All(_ context.Context, q audit.Query) iter.Seq2[audit.Event, error] {
	f.asked = append(f.asked, q)
	return func(yield func(audit.Event, error) bool) {
		for _, e := range f.recorded() {
			if !q.To.IsZero() && !e.At.Before(q.To) {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
		if f.readErr != nil {
			yield(audit.Event{}, f.readErr)
		}
	}
}

func (f *fakeAudit) Takers(_ context.Context, q audit.TakersQuery) ([]audit.Taking, error) {
	f.takers = append(f.takers, q)
	return f.takings[:min(q.Limit, len(f.takings))], f.readErr
}

// audited gives a gateway that keeps an audit.
func audited(f *fakeAudit, also func(*world, *gateway.Config)) func(*world, *gateway.Config) {
	return func(w *world, cfg *gateway.Config) {
		if also != nil {
			also(w, cfg)
		}
		cfg.Audit, cfg.AuditLog, cfg.Takers = f, f, f
	}
}
