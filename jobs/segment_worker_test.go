package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"go.opentelemetry.io/otel/trace"

	"rowmill/export"
)

// maker makes segments by a function and notes them.
type maker struct {
	mu   sync.Mutex
	made map[segmentPayload]int
	do   func(ctx context.Context, f export.Fence, segment int) error
	came chan segmentPayload
}

func newMaker(do func(ctx context.Context, f export.Fence, segment int) error) *maker {
	return &maker{made: map[segmentPayload]int{}, do: do, came: make(chan segmentPayload, 100)}
}

func (m *maker) MakeSegment(ctx context.Context, f export.Fence, segment int) error {
	p := segmentPayload{Version: 1, JobID: f.JobID, Attempt: f.Attempt, Segment: segment}
	m.mu.Lock()
	m.made[p]++
	m.mu.Unlock()
	defer func() { m.came <- p }()
	return m.do(ctx, f, segment)
}

// startSegments runs a segment worker until stop is called.
func (h *house) startSegments(t *testing.T, m SegmentMaker) (stop func()) {
	t.Helper()
	return runUntilStopped(t, NewSegmentWorker(SegmentWorkerConfig{RedisURL: h.url, Maker: m, Logger: discard()}).Run)
}

func (h *house) send(t *testing.T, j export.Job, segments ...int) {
	t.Helper()
	for _, segment := range segments {
		if err := h.queue.SendSegment(t.Context(), j, segment); err != nil {
			t.Fatal(err)
		}
	}
}

// await gives the segments that came, n of them.
func (m *maker) await(t *testing.T, n int) (came map[int]int) {
	t.Helper()
	came = map[int]int{}
	limit := time.After(20 * time.Second)
	for range n {
		select {
		case p := <-m.came:
			came[p.Segment]++
		case <-limit:
			t.Fatalf("only %v came", came)
		}
	}
	return came
}

// Whatever comes of a segment, its task is done with: nothing is tried again, and
// nothing stays in Redis that could be in the way of another.
func TestATaskOfASegmentIsDoneWithWhateverComesOfIt(t *testing.T) {
	h := newHouse(t)
	m := newMaker(func(ctx context.Context, _ export.Fence, segment int) error {
		if id := trace.SpanContextFromContext(ctx).TraceID().String(); id != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("a segment is made in trace %s", id)
		}
		switch segment {
		case 1:
			return errors.New("broken")
		case 2:
			return export.ErrFenced
		case 3:
			panic("boom")
		}
		return nil
	})
	j := job("a", export.QueueLarge)
	j.Attempt = 2
	h.send(t, j, 0, 1, 2, 3, 3) // the same twice is one
	if _, err := h.queue.client.EnqueueContext(t.Context(), asynq.NewTask(TypeSegment, []byte(`{"v":2}`), asynq.Queue(segmentQueue))); err != nil {
		t.Fatal(err)
	}
	stop := h.startSegments(t, m)
	if diff := cmp.Diff(map[int]int{0: 1, 1: 1, 2: 1, 3: 1}, m.await(t, 4)); diff != "" {
		t.Errorf("came (-want +got):\n%s", diff)
	}
	h.send(t, j, 4)
	m.await(t, 1)
	stop()
	info, err := h.queue.inspector.GetQueueInfo(segmentQueue)
	if err != nil || info.Size != 0 || info.Archived != 0 || info.Completed != 0 {
		t.Errorf("the queue holds %+v, %v", info, err)
	}
	if diff := cmp.Diff(1, m.made[segmentPayload{Version: 1, JobID: "a", Attempt: 2, Segment: 3}]); diff != "" {
		t.Error(diff)
	}
}

func TestShutdownEndsTheMakingOfSegments(t *testing.T) {
	h := newHouse(t)
	running, ended := make(chan struct{}), make(chan error, 1)
	m := newMaker(func(ctx context.Context, _ export.Fence, _ int) error {
		close(running)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	j := job("a", export.QueueLarge)
	j.Attempt = 1
	h.send(t, j, 0)
	stop := h.startSegments(t, m)
	<-running
	stop()
	if err := <-ended; !errors.Is(err, errShutdown) {
		t.Errorf("it ended by %v", err)
	}
}

// The payload is a contract between releases: this is version 1, byte for byte.
func TestTheSegmentPayloadOfVersion1(t *testing.T) {
	task, err := newSegmentTask(export.Job{ID: "0198", Attempt: 2, Queue: export.QueueLarge}, 7)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"job_id":"0198","attempt":2,"segment":7}`
	if got := string(task.Payload()); got != want || task.Type() != "export:segment" || segmentQueue != "rowmill:segments" {
		t.Errorf("got %s %s in %s, want %s", task.Type(), got, segmentQueue, want)
	}
	p, err := readPayload[segmentPayload](task)
	if diff := cmp.Diff(segmentPayload{1, "0198", 2, 7}, p); err != nil || diff != "" {
		t.Errorf("read back: %v, %s", err, diff)
	}
	for _, body := range []string{`{"v":2,"job_id":"a","attempt":1}`, `{"v":1,"attempt":1}`, `{"v":1,"job_id":"a"}`, `{"v":1,"job_id":"a","attempt":1,"segment":-1}`, `no json`} {
		if _, err := readPayload[segmentPayload](asynq.NewTask(TypeSegment, []byte(body))); err == nil {
			t.Errorf("payload %s was read", body)
		}
	}
}
