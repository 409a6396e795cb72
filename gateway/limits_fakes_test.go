package gateway_test

import (
	"context"
	"sync"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
)

func (f *fakeBoard) Measured(context.Context, string, sheet.Format) ([]export.Measured, error) {
	return f.measured, f.err
}

func (f *fakeJobs) Live(_ context.Context, requestedBy string) (live []export.Job, err error) {
	for _, j := range f.all() {
		if j.RequestedBy == requestedBy && !j.Status.Final() {
			live = append(live, j)
		}
	}
	return live, nil
}

func (f *fakeJobs) Revoke(ctx context.Context, id string, why export.Failure) (export.Job, bool, error) {
	job, changed, err := f.Cancel(ctx, id, why.At)
	if changed {
		f.change(id, func(j *export.Job) { j.Failure = &why })
	}
	return job, changed, err
}

// fakeGrants keeps grants in memory.
type fakeGrants struct {
	mu   sync.Mutex
	rows map[string]access.Grant
	err  error
}

func (f *fakeGrants) Get(_ context.Context, subject string) (access.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.rows[subject]
	if !ok && f.err == nil {
		return g, fault.New(fault.NotFound, "never seen")
	}
	return g, f.err
}

func (f *fakeGrants) Put(_ context.Context, g access.Grant) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.rows[g.Subject] = g
	}
	return f.err
}

// withGrants is a world whose grants and audit are kept.
func withGrants(g *fakeGrants, a *fakeAudit, jobs ...export.Job) func(*world, *gatewayConfig) {
	return func(w *world, c *gatewayConfig) {
		withJobs(jobs...)(w, c)
		g.rows = map[string]access.Grant{}
		c.Grants, c.Live, c.Audit = g, w.jobs, a
	}
}
