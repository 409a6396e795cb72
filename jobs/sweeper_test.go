package jobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"rowmill/export"
)

func (h *house) sweeper(f *files, now func() time.Time) *Sweeper {
	return NewSweeper(SweeperConfig{Table: h.board, Backlog: h.board, Ender: h.board, Files: f, Queue: h.queue, Logger: discard(), MaxFailures: 3, Now: now})
}

func sweep(t *testing.T, s *Sweeper) {
	t.Helper()
	if err := s.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAnEmptiedRedisLosesNoJob(t *testing.T) {
	var queued []export.Job
	for i := range 20 {
		queued = append(queued, job(fmt.Sprintf("j%02d", i), export.QueueSmall))
	}
	h := newHouse(t, queued...)
	h.enqueue(t, queued...)
	h.flush(t)
	sweep(t, h.sweeper(&files{}, time.Now))
	h.start(t, WorkerConfig{Runner: succeed(h)})
	for _, j := range queued {
		h.board.await(t, j.ID, status(export.Succeeded))
	}
}

func TestAJobOfALostWorkerRunsAgainAndThenFails(t *testing.T) {
	now := time.Now()
	lost := job("a", export.QueueSmall)
	lost.Status, lost.Attempt, lost.LeaseUntil = export.Running, 1, now.Add(-time.Second)
	worn := job("b", export.QueueSmall)
	worn.Status, worn.Attempt, worn.Failures, worn.LeaseUntil = export.Running, 3, 2, now.Add(-time.Second)
	alive := job("c", export.QueueSmall)
	alive.Status, alive.Attempt, alive.LeaseUntil = export.Running, 1, now.Add(time.Second)
	h := newHouse(t, lost, worn, alive)
	f := &files{keys: map[string]bool{export.FileKey(lost): true, export.FileKey(alive): true}}
	sweep(t, h.sweeper(f, func() time.Time { return now }))

	if j := h.board.get("a"); j.Status != export.Queued || j.Failures != 1 || j.Failure.Code != "worker-lost" {
		t.Errorf("the lost job is %s after %d failures: %+v", j.Status, j.Failures, j.Failure)
	}
	if j := h.board.get("b"); j.Status != export.Failed || j.Failure.Code != "worker-lost" {
		t.Errorf("the worn job is %s: %+v", j.Status, j.Failure)
	}
	if j := h.board.get("c"); j.Status != export.Running {
		t.Errorf("the running job is %s", j.Status)
	}
	if diff := cmp.Diff(map[string]bool{export.FileKey(alive): true}, f.keys); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	h.start(t, WorkerConfig{Runner: succeed(h)})
	if j := h.board.await(t, "a", status(export.Succeeded)); j.Attempt != 2 {
		t.Errorf("it succeeded at attempt %d", j.Attempt)
	}
}

// lateBoard shows a job as lost that publishes its file before it can be released.
type lateBoard struct {
	*board
	lost export.Job
}

func (b lateBoard) Lost(context.Context, time.Time, int) ([]export.Job, error) {
	return []export.Job{b.lost}, nil
}

func TestAFilePublishedJustBeforeTheSweepStays(t *testing.T) {
	now := time.Now()
	lost := job("a", export.QueueSmall)
	lost.Status, lost.Attempt, lost.LeaseUntil = export.Running, 1, now.Add(-time.Second)
	done := lost
	done.Status, done.ExpiresAt, done.File = export.Succeeded, now.Add(time.Hour), &export.File{Key: export.FileKey(lost)}
	h := newHouse(t, done)
	f := &files{keys: map[string]bool{done.File.Key: true}}
	s := h.sweeper(f, func() time.Time { return now })
	s.cfg.Table = lateBoard{h.board, lost}
	sweep(t, s)
	if j := h.board.get("a"); j.Status != export.Succeeded || !f.keys[done.File.Key] {
		t.Errorf("the job is %s, the store holds %v", j.Status, f.keys)
	}
}

// A task that asynq has given up keeps its id for 90 days: the job must not wait that long.
func TestATaskThatRedisHasGivenUpIsSentAnew(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.enqueue(t, h.board.get("a"))
	if err := h.queue.inspector.ArchiveTask(queueName(export.QueueSmall), "a:1"); err != nil {
		t.Fatal(err)
	}
	sweep(t, h.sweeper(&files{}, time.Now))
	h.start(t, WorkerConfig{Runner: succeed(h)})
	h.board.await(t, "a", status(export.Succeeded))
}

// Redis was emptied, and then gave a task up: what this process told it of its queues is lost too.
func TestATaskThatAnEmptiedRedisHasGivenUpIsSentAnew(t *testing.T) {
	a := job("a", export.QueueSmall)
	h := newHouse(t, a)
	h.enqueue(t, a)
	h.flush(t)
	h.enqueue(t, a)
	h.giveUp(t, a)
	sweep(t, h.sweeper(&files{}, time.Now))
	h.start(t, WorkerConfig{Runner: succeed(h)})
	h.board.await(t, "a", status(export.Succeeded))
}

// giveUp has asynq take the job's task and give it up for good.
func (h *house) giveUp(t *testing.T, j export.Job) {
	t.Helper()
	opt, err := redisOption(h.url)
	if err != nil {
		t.Fatal(err)
	}
	given := make(chan struct{})
	s := asynq.NewServer(opt, asynq.Config{
		Queues: map[string]int{queueName(j.Queue): 1}, Logger: asynqLog{discard()}, TaskCheckInterval: 10 * time.Millisecond,
		ErrorHandler: asynq.ErrorHandlerFunc(func(context.Context, *asynq.Task, error) { close(given) }),
	})
	if err := s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return asynq.SkipRetry })); err != nil {
		t.Fatal(err)
	}
	select {
	case <-given:
	case <-time.After(10 * time.Second):
		t.Error("the task was never taken")
	}
	s.Shutdown() // waits until it is written that the task is given up
}

func TestACanceledJobLeavesTheQueue(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.enqueue(t, h.board.get("a"))
	for range 2 { // the second has nothing to remove
		if err := h.queue.Cancel(t.Context(), h.board.get("a")); err != nil {
			t.Fatal(err)
		}
	}
	info, err := h.queue.inspector.GetQueueInfo(queueName(export.QueueSmall))
	if err != nil || info.Size != 0 {
		t.Errorf("the queue holds %+v, %v", info, err)
	}
}

func TestFilesWithoutAJobAreSwept(t *testing.T) {
	now := time.Now()
	done := job("done", export.QueueSmall)
	done.Status, done.Attempt, done.ExpiresAt = export.Succeeded, 2, now.Add(time.Hour)
	done.File = &export.File{Key: export.FileKey(done)}
	old := job("old", export.QueueSmall)
	old.Status, old.Attempt, old.ExpiresAt = export.Succeeded, 1, now.Add(-time.Hour)
	old.File = &export.File{Key: export.FileKey(old)}
	canceled := job("canceled", export.QueueSmall)
	canceled.Status, canceled.Attempt = export.Canceled, 1
	running := job("running", export.QueueSmall)
	running.Status, running.Attempt, running.LeaseUntil = export.Running, 2, now.Add(time.Minute)
	h := newHouse(t, done, old, canceled, running)
	f := &files{keys: map[string]bool{
		"exports/done.1.xlsx": true, "exports/done.2.xlsx": true, "exports/old.1.xlsx": true, "exports/canceled.1.xlsx": true,
		"exports/running.1.xlsx": true, "exports/running.2.xlsx": true, "exports/nobody.1.xlsx": true, "someone-else": true,
	}}
	sweep(t, h.sweeper(f, func() time.Time { return now }))
	want := map[string]bool{"exports/done.2.xlsx": true, "exports/running.2.xlsx": true, "someone-else": true}
	if diff := cmp.Diff(want, f.keys); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if j := h.board.get("old"); j.Status != export.Expired {
		t.Errorf("the old job is %s", j.Status)
	}
}
