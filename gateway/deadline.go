package gateway

import (
	"context"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/grants"
	"rowmill/internal/fault"
)

// within calls the job table, which must answer in time: a database that takes
// connections and says nothing must not hold the caller.
func within(ctx context.Context, limit time.Duration, call func(ctx context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := call(inner)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return fault.Wrap(err, fault.Unavailable, "The database does not answer. Please try again.")
	}
	return err
}

// timelyJobs is a job table whose every call ends in time.
type timelyJobs struct {
	jobs  Jobs
	limit time.Duration
}

func (t timelyJobs) Insert(ctx context.Context, job export.Job, key string) (stored export.Job, created bool, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		stored, created, err = t.jobs.Insert(ctx, job, key)
		return err
	})
	return stored, created, err
}

func (t timelyJobs) Get(ctx context.Context, id string) (job export.Job, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		job, err = t.jobs.Get(ctx, id)
		return err
	})
	return job, err
}

func (t timelyJobs) History(ctx context.Context, h export.History) (jobs []export.Job, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		jobs, err = t.jobs.History(ctx, h)
		return err
	})
	return jobs, err
}

func (t timelyJobs) Cancel(ctx context.Context, id string, at time.Time) (job export.Job, changed bool, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		job, changed, err = t.jobs.Cancel(ctx, id, at)
		return err
	})
	return job, changed, err
}

// timelyBoard is a board whose every call ends in time.
type timelyBoard struct {
	board Board
	limit time.Duration
}

func (t timelyBoard) Ahead(ctx context.Context, job export.Job) (n int64, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		n, err = t.board.Ahead(ctx, job)
		return err
	})
	return n, err
}

func (t timelyBoard) Workers(ctx context.Context, at time.Time) (w export.Workers, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		w, err = t.board.Workers(ctx, at)
		return err
	})
	return w, err
}

func (t timelyBoard) Measured(ctx context.Context, dataset string, f sheet.Format) (past []export.Measured, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		past, err = t.board.Measured(ctx, dataset, f)
		return err
	})
	return past, err
}

// timelyGrants is a store of grants whose every call ends in time.
type timelyGrants struct {
	grants.Store
	limit time.Duration
}

func (t timelyGrants) Get(ctx context.Context, subject string) (g access.Grant, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		g, err = t.Store.Get(ctx, subject)
		return err
	})
	return g, err
}

func (t timelyGrants) Put(ctx context.Context, g access.Grant) error {
	return within(ctx, t.limit, func(ctx context.Context) error { return t.Store.Put(ctx, g) })
}

// timelyLive is the table of live jobs, whose every call ends in time.
type timelyLive struct {
	grants.Jobs
	limit time.Duration
}

func (t timelyLive) Live(ctx context.Context, requestedBy string) (jobs []export.Job, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		jobs, err = t.Jobs.Live(ctx, requestedBy)
		return err
	})
	return jobs, err
}

func (t timelyLive) Revoke(ctx context.Context, id string, why export.Failure) (job export.Job, changed bool, err error) {
	err = within(ctx, t.limit, func(ctx context.Context) error {
		job, changed, err = t.Jobs.Revoke(ctx, id, why)
		return err
	})
	return job, changed, err
}

// timely gives the config with every call of the job table and of the grants bound
// in time.
func (c Config) timely() Config {
	limit := c.Limits.TableTimeout
	c.Jobs, c.Board = timelyJobs{c.Jobs, limit}, timelyBoard{c.Board, limit}
	if c.Grants != nil {
		c.Grants, c.Live = timelyGrants{c.Grants, limit}, timelyLive{c.Live, limit}
	}
	return c
}
