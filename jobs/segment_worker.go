package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"rowmill/export"
	"rowmill/internal/telemetry"
)

// SegmentMaker makes segments of big jobs for the attempts that join them.
type SegmentMaker interface {
	// MakeSegment is export.ErrFenced where there is nothing to be made.
	MakeSegment(ctx context.Context, f export.Fence, segment int) error
}

// SegmentWorkerConfig is what a SegmentWorker needs.
type SegmentWorkerConfig struct {
	RedisURL string
	Maker    SegmentMaker
	Logger   *slog.Logger
	Slots    int // segments made at once; default export.DefaultSegmentSlots
}

// SegmentWorker takes the tasks that ask for segments. What becomes of a segment
// is in the table: a task is done with whatever came of it.
type SegmentWorker struct {
	cfg     SegmentWorkerConfig
	runs    context.Context // parent of all makings; ends with errShutdown
	stop    context.CancelCauseFunc
	running sync.WaitGroup
}

// NewSegmentWorker returns a worker that takes nothing before Run.
func NewSegmentWorker(c SegmentWorkerConfig) *SegmentWorker {
	c.Slots = cmp.Or(c.Slots, export.DefaultSegmentSlots)
	w := &SegmentWorker{cfg: c}
	w.runs, w.stop = context.WithCancelCause(context.Background())
	return w
}

// Run takes tasks until ctx ends. Then it gives back the segments that are being
// made and returns when each has ended.
func (w *SegmentWorker) Run(ctx context.Context) error {
	opt, err := redisOption(w.cfg.RedisURL)
	if err != nil {
		return err
	}
	server := newServer(opt, w.cfg.Logger, asynq.Config{
		Concurrency:       w.cfg.Slots,
		Queues:            map[string]int{segmentQueue: 1},
		TaskCheckInterval: 200 * time.Millisecond, // nobody waits for help, so it asks Redis less often
	})
	mux := asynq.NewServeMux()
	mux.HandleFunc(TypeSegment, func(_ context.Context, t *asynq.Task) error {
		w.handle(t) //nolint:contextcheck // asynq's context ends by its own limits; w.runs is the parent
		return nil
	})
	if err := server.Start(mux); err != nil {
		return fmt.Errorf("start taking segments: %w", err)
	}
	<-ctx.Done()
	server.Stop()
	w.stop(errShutdown)
	w.running.Wait()
	server.Shutdown()
	return nil
}

// handle makes one segment. It never asks asynq to try again: who joins the
// segments makes what nobody has made.
func (w *SegmentWorker) handle(t *asynq.Task) {
	w.running.Add(1)
	defer w.running.Done()
	p, err := readPayload[segmentPayload](t)
	if err != nil {
		w.cfg.Logger.Error("a task cannot be read", "error", err)
		return
	}
	ctx := telemetry.WithJob(telemetry.WithTraceParent(w.runs, t.Headers()[traceHeader]), p.JobID)
	err = w.make(ctx, p)
	switch {
	case err == nil:
		w.cfg.Logger.InfoContext(ctx, "segment made", "attempt", p.Attempt, "segment", p.Segment)
	case errors.Is(err, export.ErrFenced):
		w.cfg.Logger.DebugContext(ctx, "a segment is taken or over", "attempt", p.Attempt, "segment", p.Segment)
	default:
		w.cfg.Logger.WarnContext(ctx, "a segment is left to others", "attempt", p.Attempt, "segment", p.Segment, "error", err)
	}
}

func (w *SegmentWorker) make(ctx context.Context, p segmentPayload) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a segment: %v", p)
		}
	}()
	return w.cfg.Maker.MakeSegment(ctx, export.Fence{JobID: p.JobID, Attempt: p.Attempt}, p.Segment)
}
