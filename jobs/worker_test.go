package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }

// house is a queue on a real Redis and what stands around it.
type house struct {
	url   string
	queue *Queue
	board *board
}

func newHouse(t *testing.T, jobs ...export.Job) *house {
	t.Helper()
	h := &house{url: testdb.Redis(t), board: newBoard(jobs...)}
	var err error
	if h.queue, err = NewQueue(h.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.queue.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// start runs a worker until stop is called.
func (h *house) start(t *testing.T, c WorkerConfig) (stop func()) {
	t.Helper()
	c.RedisURL, c.Claims, c.Attempts, c.Queue, c.ID = h.url, h.board, h.board, h.queue, "w-1"
	if c.Logger == nil {
		c.Logger = discard()
	}
	return runUntilStopped(t, NewWorker(c).Run)
}

// runUntilStopped runs until stop is called, at the latest at the test's end.
func runUntilStopped(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (h *house) enqueue(t *testing.T, jobs ...export.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := h.queue.Enqueue(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *house) flush(t *testing.T) {
	t.Helper()
	opt, err := redis.ParseURL(h.url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opt)
	if err := errors.Join(c.FlushDB(t.Context()).Err(), c.Close()); err != nil {
		t.Fatal(err)
	}
}

func succeed(h *house) runner {
	return func(ctx context.Context, j export.Job) error {
		return h.board.Succeed(ctx, export.Fence{JobID: j.ID, Attempt: j.Attempt}, export.File{Key: export.FileKey(j)}, export.Receipt{}, time.Now(), time.Now())
	}
}

func TestAJobRunsInItsTraceAndItsLog(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	var lines bytes.Buffer
	var lock sync.Mutex
	traces := make(chan string, 1)
	h.start(t, WorkerConfig{Logger: telemetry.NewLogger(locked{&lock, &lines}, "json", 0), Runner: runner(func(ctx context.Context, j export.Job) error {
		traces <- trace.SpanContextFromContext(ctx).TraceID().String()
		return succeed(h)(ctx, j)
	})})
	h.enqueue(t, h.board.get("a"))
	h.board.await(t, "a", status(export.Succeeded))
	const id = "0af7651916cd43dd8448eb211c80319c"
	if got := <-traces; got != id {
		t.Errorf("the run is in trace %s, want the request's %s", got, id)
	}
	lock.Lock()
	defer lock.Unlock()
	for line := range strings.Lines(lines.String()) {
		if strings.Contains(line, "attempt started") && (!strings.Contains(line, `"job_id":"a"`) || !strings.Contains(line, id)) {
			t.Errorf("a line does not tell its job and trace: %s", line)
		}
	}
}

type locked struct {
	*sync.Mutex
	w *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.w.Write(p)
}

func TestAFaultIsTriedAgainUntilTheLimit(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	var runs atomic.Int64
	h.start(t, WorkerConfig{MaxFailures: 2, Runner: runner(func(context.Context, export.Job) error {
		runs.Add(1)
		return fault.New(fault.Unavailable, "The API does not answer.")
	})})
	h.enqueue(t, h.board.get("a"))
	j := h.board.await(t, "a", status(export.Failed))
	if runs.Load() != 2 || j.Attempt != 2 || j.Failure.Code != "unavailable" {
		t.Errorf("%d runs, attempt %d, failure %+v", runs.Load(), j.Attempt, j.Failure)
	}
}

func TestAPanicFailsTheAttemptNotTheWorker(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall), job("b", export.QueueSmall))
	h.start(t, WorkerConfig{MaxFailures: 1, Runner: runner(func(ctx context.Context, j export.Job) error {
		if j.ID == "a" {
			panic("boom")
		}
		return succeed(h)(ctx, j)
	})})
	h.enqueue(t, h.board.get("a"), h.board.get("b"))
	h.board.await(t, "a", status(export.Failed))
	h.board.await(t, "b", status(export.Succeeded))
}

func TestARequestThatCannotSucceedIsNotRepeated(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.start(t, WorkerConfig{Runner: runner(func(context.Context, export.Job) error { return fault.New(fault.Invalid, "No such column.") })})
	h.enqueue(t, h.board.get("a"))
	if j := h.board.await(t, "a", status(export.Failed)); j.Attempt != 1 {
		t.Errorf("took %d attempts", j.Attempt)
	}
}

func TestTheSameAttemptIsSentTwiceAndRunsOnce(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	queued := h.board.get("a")
	h.enqueue(t, queued, queued)
	var runs atomic.Int64
	h.start(t, WorkerConfig{Runner: runner(func(ctx context.Context, j export.Job) error {
		runs.Add(1)
		return succeed(h)(ctx, j)
	})})
	h.board.await(t, "a", status(export.Succeeded))
	h.enqueue(t, queued) // late, after the end
	h.enqueueAndAwait(t, "z")
	if runs.Load() != 2 { // a and z
		t.Errorf("%d runs of two jobs", runs.Load())
	}
}

// enqueueAndAwait runs one more job: what was queued before it has been taken by then.
func (h *house) enqueueAndAwait(t *testing.T, id string) {
	t.Helper()
	j := job(id, export.QueueSmall)
	stored := j // the late ticket may run it at once
	h.board.mu.Lock()
	h.board.jobs[id] = &stored
	h.board.mu.Unlock()
	h.enqueue(t, j)
	h.board.await(t, id, status(export.Succeeded))
}

func TestASmallJobDoesNotWaitBehindLargeOnes(t *testing.T) {
	large := []export.Job{job("l1", export.QueueLarge), job("l2", export.QueueLarge), job("l3", export.QueueLarge)}
	h := newHouse(t, append(large, job("s", export.QueueSmall))...)
	release, busy := make(chan struct{}), make(chan struct{}, len(large))
	stop := h.start(t, WorkerConfig{SmallSlots: 1, SharedSlots: 2, Runner: runner(func(ctx context.Context, j export.Job) error {
		if j.Queue == export.QueueLarge {
			busy <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return succeed(h)(ctx, j)
	})})
	h.enqueue(t, large...)
	<-busy
	<-busy // every shared slot holds a large job
	h.enqueue(t, h.board.get("s"))
	h.board.await(t, "s", status(export.Succeeded))
	close(release)
	for _, j := range large {
		h.board.await(t, j.ID, status(export.Succeeded))
	}
	stop()
}

func TestShutdownHandsRunningJobsBack(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	running := make(chan struct{})
	stop := h.start(t, WorkerConfig{Runner: runner(func(ctx context.Context, _ export.Job) error {
		close(running)
		<-ctx.Done()
		return fmt.Errorf("fetch a page: %w", context.Cause(ctx))
	})})
	h.enqueue(t, h.board.get("a"))
	<-running
	stop()
	j := h.board.get("a")
	if j.Status != export.Queued || j.Failures != 0 || j.Attempt != 1 {
		t.Fatalf("the job is %s after %d failures at attempt %d", j.Status, j.Failures, j.Attempt)
	}
	h.start(t, WorkerConfig{Runner: succeed(h)})
	if j := h.board.await(t, "a", status(export.Succeeded)); j.Attempt != 2 {
		t.Errorf("it succeeded at attempt %d", j.Attempt)
	}
}

func TestAnAttemptEndsAtItsTimeLimit(t *testing.T) {
	h := newHouse(t, job("a", export.QueueSmall))
	h.start(t, WorkerConfig{JobTimeout: 50 * time.Millisecond, MaxFailures: 1, Runner: runner(func(ctx context.Context, _ export.Job) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})})
	h.enqueue(t, h.board.get("a"))
	if j := h.board.await(t, "a", status(export.Failed)); j.Failure.Message != errTimeout.Message {
		t.Errorf("got %+v", j.Failure)
	}
}

func TestATaskOfAnUnknownVersionIsNotRun(t *testing.T) {
	for _, body := range []string{`{"v":2,"job_id":"a","attempt":1}`, `{"v":1,"attempt":1}`, `{"v":1,"job_id":"a"}`, `no json`} {
		if _, err := readPayload[runPayload](asynq.NewTask(TypeRun, []byte(body))); err == nil {
			t.Errorf("payload %s was read", body)
		}
	}
}

// The payload is a contract between releases: this is version 1, byte for byte.
func TestThePayloadOfVersion1(t *testing.T) {
	task, err := newRunTask(export.Job{ID: "0198", Attempt: 2, Queue: export.QueueLarge})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"job_id":"0198","attempt":3}`
	if got := string(task.Payload()); got != want || task.Type() != "export:run" {
		t.Errorf("got %s %s, want %s", task.Type(), got, want)
	}
	var p runPayload
	if err := json.Unmarshal([]byte(want), &p); err != nil || p.Attempt != 3 {
		t.Errorf("read back as %+v, %v", p, err)
	}
}

func TestARedisURLIsNeverRepeated(t *testing.T) {
	_, err := NewQueue("http://:hunter2@redis")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
