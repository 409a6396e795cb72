package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"rowmill/export"
)

// turned gives a small job with a turn.
func turned(id string, turn int64) export.Job {
	j := job(id, export.QueueSmall)
	j.Turn = turn
	return j
}

// ran runs a worker of one slot until the last job has ended, and gives what ran in order.
func (h *house) ran(t *testing.T, last string) []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	stop := h.start(t, WorkerConfig{SmallSlots: 1, SharedSlots: 1, Runner: runner(func(ctx context.Context, j export.Job) error {
		mu.Lock()
		order = append(order, j.ID)
		mu.Unlock()
		return succeed(h)(ctx, j)
	})})
	h.board.await(t, last, status(export.Succeeded))
	stop()
	return order
}

// A ticket names one job, and the one whose turn is next is run.
func TestATicketRunsTheJobWhoseTurnIsNext(t *testing.T) {
	h := newHouse(t, turned("second", 2), turned("first", 1))
	h.enqueue(t, h.board.get("second"))
	if got := h.ran(t, "first"); len(got) != 1 {
		t.Errorf("one ticket ran %v", got)
	}
	if j := h.board.get("second"); j.Status != export.Queued {
		t.Errorf("the job that the ticket names is %s", j.Status)
	}
	h.enqueue(t, h.board.get("first")) // what is left of the tickets
	h.ran(t, "second")
}

// A worker whose clock is behind takes what its ticket names: Redis says that it is due.
func TestAWorkerWhoseClockIsBehindRunsWhatItsTicketNames(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.board.jobs["a"].RunAt = time.Now()
	h.enqueue(t, h.board.get("a"))
	h.start(t, WorkerConfig{Runner: succeed(h), Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	h.board.await(t, "a", status(export.Succeeded))
}

// While workers of before are about, each of which runs the job that its ticket names, a
// job may be left without a ticket that waits: its own has been lent to another.
func TestAJobWhoseTicketIsLentGetsAnother(t *testing.T) {
	h := newHouse(t, turned("a", 1), turned("b", 2))
	running, release := make(chan string, 2), make(chan struct{})
	h.start(t, WorkerConfig{SmallSlots: 1, SharedSlots: 1, Runner: runner(func(ctx context.Context, j export.Job) error {
		running <- j.ID
		if j.ID == "a" {
			<-release
		}
		return succeed(h)(ctx, j)
	})})
	defer close(release)
	h.enqueue(t, h.board.get("b")) // taken, and a runs by it; a's own is lost
	if id := <-running; id != "a" {
		t.Fatalf("%s runs", id)
	}
	sweeper := h.sweeper(&files{}, time.Now)
	sweep(t, sweeper) // it may have been taken a moment ago, to run b
	if waiting, err := h.queue.tickets(export.QueueSmall); err != nil || waiting != 1 {
		t.Errorf("after one sweep Redis has %d tickets, %v, not the taken one alone", waiting, err)
	}
	sweep(t, sweeper)
	h.board.await(t, "b", status(export.Succeeded))
	if err := h.queue.Cancel(t.Context(), turned("b", 2)); err != nil {
		t.Errorf("cancel a job whose ticket is taken: %v", err)
	}
}

// tableAway fails its first claims.
type tableAway struct {
	*board
	mu    sync.Mutex
	fails int
}

func (b *tableAway) ClaimNext(ctx context.Context, q export.Queue, worker string, at, lease time.Time) (export.Job, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails--; b.fails >= 0 {
		return export.Job{}, errors.New("no connection")
	}
	return b.board.ClaimNext(ctx, q, worker, at, lease)
}

func TestATicketComesAgainWhenTheTableWasAway(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.enqueue(t, h.board.get("a"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	w := NewWorker(WorkerConfig{RedisURL: h.url, Claims: &tableAway{board: h.board, fails: 1}, Attempts: h.board, Queue: h.queue, Logger: discard(), ID: "w", Runner: succeed(h)})
	go func() { ended <- w.Run(ctx) }()
	h.board.await(t, "a", status(export.Succeeded))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// counted counts what a sweep asks of the job table.
type counted struct {
	*board
	asked int
}

func (b *counted) Due(ctx context.Context, at time.Time, after export.Job, limit int) ([]export.Job, error) {
	b.asked++
	return b.board.Due(ctx, at, after, limit)
}

// tickets counts what Redis holds of the small queue.
func (h *house) tickets(t *testing.T) int {
	t.Helper()
	n, err := h.queue.tickets(export.QueueSmall)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTenThousandTicketsAreSentAnewInOneSweepAndNotAgain(t *testing.T) {
	const n = 10_000
	var queued []export.Job
	for i := range n {
		queued = append(queued, job(fmt.Sprintf("j%05d", i), export.QueueSmall))
	}
	h := newHouse(t, queued...)
	s := h.sweeper(&files{}, time.Now)
	table := &counted{board: h.board}
	s.cfg.Table = table
	sweep(t, s) // Redis has never heard of any
	if got := h.tickets(t); got != n {
		t.Fatalf("%d tickets after the first sweep", got)
	}
	h.flush(t)
	sweep(t, s)
	if diff := cmp.Diff([2]int{n, 2 * (n/sweepBatch + 1)}, [2]int{h.ticketsOfNamed(t), table.asked}); diff != "" {
		t.Errorf("tickets, and questions to the table, after Redis was emptied (-want +got):\n%s", diff)
	}
	table.asked = 0
	for range 2 {
		sweep(t, s)
	}
	if got := h.tickets(t); got != n || table.asked != 2 {
		t.Errorf("two sweeps over a whole Redis asked the table %d times and left %d tickets", table.asked, got)
	}
	for i := 5000; i < 5010; i++ { // of the middle, which no sweep looks at by itself
		if err := h.queue.inspector.DeleteTask(queueName(export.QueueSmall), fmt.Sprintf("j%05d:1", i)); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, s)
	if got := h.tickets(t); got != n {
		t.Errorf("%d tickets after ten were lost", got)
	}
}

// ticketsOfNamed counts once Redis knows the queue by name again: the sender named it
// before it was emptied, and names it again when a ticket of it is found to be there.
func (h *house) ticketsOfNamed(t *testing.T) int {
	t.Helper()
	h.enqueue(t, h.board.get("j00000"))
	return h.tickets(t)
}

// A ticket that was given up counts for none.
func TestTicketsThatRedisHasGivenUpAreMissed(t *testing.T) {
	const n = sweepBatch + 10
	var queued []export.Job
	for i := range n {
		queued = append(queued, job(fmt.Sprintf("j%05d", i), export.QueueSmall))
	}
	h := newHouse(t, queued...)
	h.enqueue(t, queued...)
	last := fmt.Sprintf("j%05d:1", n-1)
	if err := h.queue.inspector.ArchiveTask(queueName(export.QueueSmall), last); err != nil {
		t.Fatal(err)
	}
	sweep(t, h.sweeper(&files{}, time.Now))
	if info, err := h.queue.inspector.GetTaskInfo(queueName(export.QueueSmall), last); err != nil || info.State != asynq.TaskStatePending {
		t.Errorf("the ticket: %+v, %v", info, err)
	}
}
