package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"rowmill/export"
	"rowmill/internal/pool"
	"rowmill/jobs"
	"rowmill/repository"
)

// startWorker starts what the worker's role plays: it runs jobs, makes segments of
// others' jobs and sweeps, once the schema is the one that this release needs.
func (a *app) startWorker(ctx context.Context, group *errgroup.Group) error {
	id := workerID()
	runner, err := a.newRunner(id)
	if err != nil {
		return err
	}
	worker, sweeper, segments := a.newWorker(id, runner), a.newSweeper(runner), a.newSegmentWorker(runner)
	a.worker.Store(worker)
	group.Go(func() error {
		if !a.awaitSchema(ctx) {
			return nil
		}
		group.Go(func() error { return sweeper.Run(ctx) })
		group.Go(func() error { return segments.Run(ctx) })
		return worker.Run(ctx)
	})
	return nil
}

// newRunner gives what makes the files, on pools that all of the process's jobs share.
func (a *app) newRunner(worker string) (*export.Runner, error) {
	fetch := pool.NewAdaptive(pool.Limits{Min: a.cfg.FetchMin, Initial: a.cfg.FetchSlots, Max: a.cfg.FetchMax}, a.log)
	encode := pool.New(a.cfg.Encoders())
	a.metrics.Pool("fetch", fetch)
	a.metrics.Pool("encode", encode)
	return export.NewRunner(export.Config{
		Datasets: []export.Dataset{a.dataset()}, Attempts: a.jobs, Files: a.files, RowSets: repository.NewRowSets(a.db), Measures: a.jobs,
		Segments: a.segments(worker), Fetch: fetch, Encode: encode, Window: a.cfg.Window,
		Lease: a.cfg.Lease, ReportEvery: a.cfg.ReportEvery, Retention: a.cfg.Retention,
		Logger: a.log, Observer: a.metrics, Now: a.now,
	})
}

func (a *app) newWorker(id string, runner *export.Runner) *jobs.Worker {
	return jobs.NewWorker(jobs.WorkerConfig{
		ID: id, RedisURL: a.redisURL, Queue: a.queue, Runner: runner,
		Claims: a.jobs, Attempts: jobs.DiscardingAttempts(a.jobs, runner, a.log), Permissions: a.holds,
		SmallSlots: a.cfg.SmallSlots, SharedSlots: a.cfg.SharedSlots, JobTimeout: a.cfg.JobTimeout, MaxFailures: a.cfg.MaxFailures,
		Logger: a.log, Tracer: a.tracer, Ended: a.metrics.JobEnded, Now: a.now,
	})
}

func (a *app) newSegmentWorker(runner *export.Runner) *jobs.SegmentWorker {
	return jobs.NewSegmentWorker(jobs.SegmentWorkerConfig{RedisURL: a.redisURL, Maker: runner, Logger: a.log, Slots: a.cfg.SegmentSlots})
}

func (a *app) newSweeper(runner *export.Runner) *jobs.Sweeper {
	return jobs.NewSweeper(jobs.SweeperConfig{
		Table: a.jobs, Backlog: a.jobs, Ender: jobs.DiscardingEnder(a.jobs, runner, a.log), Files: a.files, Queue: a.queue,
		Every: a.cfg.SweepEvery, FilesEvery: a.cfg.FilesEvery, FilesAge: a.cfg.FilesAge, MaxFailures: a.cfg.MaxFailures,
		Kept: []jobs.Kept{
			a.metrics.Retained("audit-events", repository.NewAudit(a.db)),
			a.metrics.Retained("row-sets", repository.NewRowSets(a.db)),
			a.metrics.Retained("segments", repository.NewSegments(a.db)),
		},
		AuditRetention: a.cfg.AuditRetention,
		Logger:         a.log, Did: a.metrics.Swept, Ended: a.metrics.JobEnded, Now: a.now,
	})
}

// workerID names a worker so that a reader of the log finds its machine and process.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}
