package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"rowmill/export"
	"rowmill/internal/telemetry"
)

// Claims is the part of the job table that a worker needs besides what a run writes.
type Claims interface {
	// ClaimNext takes the job of the queue that is due and next by its turn, or
	// returns export.ErrNothingDue.
	ClaimNext(ctx context.Context, q export.Queue, worker string, at, leaseUntil time.Time) (export.Job, error)
	// Claim takes the attempt, or returns export.ErrFenced if it is taken or over.
	Claim(ctx context.Context, f export.Fence, worker string, at, leaseUntil time.Time) (export.Job, error)
	// Beat stores that the worker is alive.
	Beat(ctx context.Context, worker string, at time.Time) error
}

// Runner runs a claimed job.
type Runner interface {
	Run(ctx context.Context, j export.Job) error
	Lease() time.Duration
}

// WorkerConfig is what a Worker needs.
type WorkerConfig struct {
	RedisURL string
	Claims   Claims
	Attempts export.Attempts
	Runner   Runner
	Queue    *Queue
	Logger   *slog.Logger

	Permissions Permissions       // asked before a job runs; nil: every job may
	Tracer      *telemetry.Tracer // nil: attempts are not recorded
	Ended       Ended             // nil: attempts are not counted

	ID          string        // unique among the workers
	SmallSlots  int           // small jobs that run at once whatever the large ones do; default 2
	SharedSlots int           // jobs of either size that run at once beside them; default 2
	JobTimeout  time.Duration // of one attempt; default 2 h
	MaxFailures int           // attempts of a job that may fail before it has failed; default 5
	Now         func() time.Time
}

// Defaults of a WorkerConfig.
const (
	DefaultSmallSlots  = 2
	DefaultSharedSlots = 2
	DefaultJobTimeout  = 2 * time.Hour
	DefaultMaxFailures = 5
)

// Weights of the queues on the shared slots: a small job is three times as
// likely to be next, a large one is never starved.
const smallWeight, largeWeight = 3, 1

// Worker takes tasks and runs their jobs.
type Worker struct {
	cfg     WorkerConfig
	runs    context.Context // parent of all runs; ends with errShutdown
	stop    context.CancelCauseFunc
	running sync.WaitGroup
	beaten  atomic.Int64 // when it last said that it is alive, in Unix nanoseconds
}

// NewWorker returns a worker that takes nothing before Run.
func NewWorker(c WorkerConfig) *Worker {
	c.SmallSlots = cmp.Or(c.SmallSlots, DefaultSmallSlots)
	c.SharedSlots = cmp.Or(c.SharedSlots, DefaultSharedSlots)
	c.JobTimeout = cmp.Or(c.JobTimeout, DefaultJobTimeout)
	c.MaxFailures = cmp.Or(c.MaxFailures, DefaultMaxFailures)
	if c.Now == nil {
		c.Now = time.Now
	}
	w := &Worker{cfg: c}
	w.runs, w.stop = context.WithCancelCause(context.Background())
	return w
}

// Run takes tasks until ctx ends. Then it takes no more, hands the running jobs
// back to the queue and returns when each has ended.
func (w *Worker) Run(ctx context.Context) error {
	opt, err := redisOption(w.cfg.RedisURL)
	if err != nil {
		return err
	}
	servers := []*asynq.Server{
		w.server(opt, w.cfg.SmallSlots, map[string]int{queueName(export.QueueSmall): 1}),
		w.server(opt, w.cfg.SharedSlots, map[string]int{queueName(export.QueueSmall): smallWeight, queueName(export.QueueLarge): largeWeight}),
	}
	mux := asynq.NewServeMux()
	mux.HandleFunc(TypeRun, func(ctx context.Context, t *asynq.Task) error {
		return w.handle(queueOf(ctx), t) //nolint:contextcheck // asynq's context ends by its own limits and leaves the run behind; w.runs is the parent
	})
	for i, s := range servers {
		if err := s.Start(mux); err != nil {
			for _, started := range servers[:i] {
				started.Shutdown()
			}
			return fmt.Errorf("start taking tasks: %w", err)
		}
	}
	w.beat(ctx)
	for _, s := range servers {
		s.Stop()
	}
	w.stop(errShutdown)
	w.running.Wait()
	for _, s := range servers {
		s.Shutdown()
	}
	return nil
}

func (w *Worker) server(opt asynq.RedisConnOpt, slots int, queues map[string]int) *asynq.Server {
	return newServer(opt, w.cfg.Logger, asynq.Config{
		Concurrency:       slots,
		Queues:            queues,
		TaskCheckInterval: 50 * time.Millisecond, // what a click waits for at most
		RetryDelayFunc:    ticketRetry,
	})
}

// newServer gives what takes tasks, with what is the same for all of them.
func newServer(opt asynq.RedisConnOpt, log *slog.Logger, c asynq.Config) *asynq.Server {
	c.DelayedTaskCheckInterval = time.Second
	c.ShutdownTimeout = 5 * time.Second // what the tasks began has ended by then
	c.Logger, c.LogLevel = asynqLog{log}, asynq.WarnLevel
	return asynq.NewServer(opt, c)
}

// beat says that this worker is alive until ctx ends.
func (w *Worker) beat(ctx context.Context) {
	ticks := time.NewTicker(export.WorkerBeat)
	defer ticks.Stop()
	for {
		now := w.cfg.Now()
		if err := w.cfg.Claims.Beat(ctx, w.cfg.ID, now); err == nil {
			w.beaten.Store(now.UnixNano())
		} else if ctx.Err() == nil {
			w.cfg.Logger.WarnContext(ctx, "the worker's sign of life could not be stored", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// handle takes a ticket of the queue and runs the job that is next. asynq learns of an
// error only where the ticket should come again; what becomes of the job is in the table.
func (w *Worker) handle(q export.Queue, t *asynq.Task) error {
	w.running.Add(1)
	defer w.running.Done()
	p, err := readPayload[runPayload](t)
	if err != nil {
		w.cfg.Logger.Error("a task cannot be read", "error", err)
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	job, err := w.claim(q, p)
	if errors.Is(err, export.ErrNothingDue) {
		w.cfg.Logger.Debug("a ticket found no job that is due", "queue", string(q), "job_id", p.JobID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim a job of queue %s: %w", q, err)
	}
	ctx := telemetry.WithJob(telemetry.WithTraceParent(w.runs, job.TraceParent), job.ID)
	ctx, span := w.cfg.Tracer.Enter(ctx, job.TraceParent, attemptSpan(job))
	defer span.End(nil)
	allowed, err := w.permitted(ctx, job)
	switch {
	case err == nil && allowed:
		err = w.run(ctx, job)
	case err == nil:
		err = export.ErrFenced // the job has been ended
	}
	w.settle(ctx, span, job, err)
	return nil
}

// claim takes the job that is next. Where this machine's clock says that none is due it
// takes the one that the ticket names: Redis says that its time has come.
func (w *Worker) claim(q export.Queue, p runPayload) (export.Job, error) {
	now := w.cfg.Now()
	leaseUntil := now.Add(w.cfg.Runner.Lease())
	job, err := w.cfg.Claims.ClaimNext(w.runs, q, w.cfg.ID, now, leaseUntil)
	if !errors.Is(err, export.ErrNothingDue) {
		return job, err
	}
	job, err = w.cfg.Claims.Claim(w.runs, export.Fence{JobID: p.JobID, Attempt: p.Attempt}, w.cfg.ID, now, leaseUntil)
	if errors.Is(err, export.ErrFenced) {
		err = export.ErrNothingDue
	}
	return job, err
}

// run runs an attempt within the job's time limit.
func (w *Worker) run(ctx context.Context, job export.Job) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.JobTimeout, errTimeout)
	defer cancel()
	w.cfg.Logger.InfoContext(ctx, "attempt started", "attempt", job.Attempt, "failures", job.Failures, "queue", job.Queue)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in the export: %v", p)
		}
	}()
	return w.cfg.Runner.Run(ctx, job)
}

// settle writes what becomes of the job, also while the worker shuts down.
func (w *Worker) settle(ctx context.Context, span *telemetry.Span, job export.Job, runErr error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	now := w.cfg.Now()
	v := decide(runErr, job.Failures, w.cfg.MaxFailures, now)
	fence := export.Fence{JobID: job.ID, Attempt: job.Attempt}
	outcome := w.ended(span, v, runErr)
	var err error
	switch v.action {
	case drop:
		w.cfg.Logger.InfoContext(ctx, "attempt ended", "attempt", job.Attempt, "outcome", outcome, "reason", runErr)
		return
	case giveUp:
		w.cfg.Logger.ErrorContext(ctx, "job failed", "attempt", job.Attempt, "code", v.why.Code, "error", runErr)
		err = w.cfg.Attempts.Fail(ctx, fence, *v.why)
	default:
		w.cfg.Logger.WarnContext(ctx, "attempt goes back to the queue", "attempt", job.Attempt, "outcome", outcome, "after", v.after, "error", runErr)
		job.RunAt = now.Add(v.after)
		if err = w.cfg.Attempts.Release(ctx, fence, job.RunAt, v.why); err == nil {
			err = w.cfg.Queue.Enqueue(ctx, job)
		}
	}
	if err != nil && !errors.Is(err, export.ErrFenced) {
		w.cfg.Logger.WarnContext(ctx, "the end of an attempt is left to the sweeper", "attempt", job.Attempt, "error", err)
	}
}
