package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"rowmill/export"
	"rowmill/internal/telemetry"
)

// sendsAtOnce is how many tickets are on their way to Redis at once: an emptied one gets
// ten thousand in seconds, without taking it from those who work.
const sendsAtOnce = 8

// resend sends tickets anew. Those of the jobs that have waited longest always, which
// costs little: Redis keeps what it still has. Those of the others only where it holds
// fewer tickets than there are jobs, as one that was emptied does.
func (s *Sweeper) resend(ctx context.Context) error {
	s.lent.turn()
	now := s.cfg.Now()
	due, err := s.cfg.Table.Due(ctx, now, export.Job{}, sweepBatch)
	if err != nil {
		return err
	}
	if err := s.send(ctx, due); err != nil || len(due) < sweepBatch {
		return err
	}
	short, err := s.short(ctx)
	if err != nil || len(short) == 0 {
		return err
	}
	s.cfg.Logger.WarnContext(ctx, "Redis has lost tickets of waiting jobs: all are sent anew", "missing", short)
	for len(due) == sweepBatch {
		if due, err = s.cfg.Table.Due(ctx, now, due[len(due)-1], sweepBatch); err != nil {
			return err
		}
		if err := s.send(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweeper) send(ctx context.Context, due []export.Job) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sendsAtOnce)
	for _, j := range due {
		group.Go(func() error { return s.sendOne(ctx, j) })
	}
	return group.Wait()
}

// sendOne sends a job's ticket. One that a worker has just taken is about to claim the
// job: only where the sweep before found it taken too has it been lent to another job, or
// its worker is gone, and a second one is sent.
func (s *Sweeper) sendOne(ctx context.Context, j export.Job) error {
	ctx = telemetry.WithJob(telemetry.WithTraceParent(ctx, j.TraceParent), j.ID)
	sent, err := s.cfg.Queue.send(ctx, j, 1)
	if errors.Is(err, errLent) {
		err = nil
		if s.lent.again(taskID(j)) {
			sent, err = s.cfg.Queue.send(ctx, j, lendings)
		}
	}
	if errors.Is(err, errLent) {
		err = nil
	}
	if err == nil && sent {
		s.did("resent", 1)
		s.cfg.Logger.InfoContext(ctx, "task sent by the sweeper", "attempt", j.Attempt+1)
	}
	return err
}

// lent remembers which tickets the last sweep and this one found taken.
type lent struct {
	mu        sync.Mutex
	last, now map[string]bool
}

// turn begins a sweep.
func (l *lent) turn() { l.last, l.now = l.now, map[string]bool{} }

// again notes a ticket that is taken, and reports whether the sweep before noted it.
func (l *lent) again(ticket string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now[ticket] = true
	return l.last[ticket]
}

// short gives by how many tickets each queue has too few; those that have enough are
// absent. A job that waits has one, or has lent it to one that runs.
func (s *Sweeper) short(ctx context.Context) (map[export.Queue]int, error) {
	held := map[export.Queue]int{}
	for _, q := range []export.Queue{export.QueueSmall, export.QueueLarge} {
		n, err := s.cfg.Queue.tickets(q)
		if err != nil {
			return nil, err
		}
		held[q] = n
	}
	// Counted after the tickets: a job that ends in between is no ticket too few.
	jobs, err := s.cfg.Backlog.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	short := map[export.Queue]int{}
	for q, n := range jobs {
		if n > held[q] {
			short[q] = n - held[q]
		}
	}
	return short, nil
}

// tickets counts what Redis has of the queue, but for what it has given up.
func (q *Queue) tickets(of export.Queue) (int, error) {
	// A queue that Redis does not know by name, as after it was emptied, is counted as
	// having none: who sends a ticket names it again.
	named, err := q.inspector.Queues()
	if err != nil || !slices.Contains(named, queueName(of)) {
		return 0, err
	}
	info, err := q.inspector.GetQueueInfo(queueName(of))
	if err != nil {
		return 0, fmt.Errorf("count the tickets of queue %s: %w", of, err)
	}
	return info.Pending + info.Scheduled + info.Retry + info.Active, nil
}
