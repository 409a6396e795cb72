package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"

	"rowmill/export"
	"rowmill/internal/fault"
)

// TypeSegment is the kind of the task that asks for a segment of a big job, a
// contract as TypeRun is. Tasks of it are hints: the job does without them.
const TypeSegment = "export:segment"

// segmentQueue is the queue of the segments, of all jobs.
const segmentQueue = queuePrefix + "segments"

type segmentPayload struct {
	Version int    `json:"v"`
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"` // that joins the segments
	Segment int    `json:"segment"` // from 0
}

func newSegmentTask(j export.Job, segment int) (*asynq.Task, error) {
	body, err := json.Marshal(segmentPayload{Version: payloadVersion, JobID: j.ID, Attempt: j.Attempt, Segment: segment})
	if err != nil {
		return nil, fmt.Errorf("encode the task of a segment of job %s: %w", j.ID, err)
	}
	var headers map[string]string
	if j.TraceParent != "" {
		headers = map[string]string{"traceparent": j.TraceParent}
	}
	return asynq.NewTaskWithHeaders(TypeSegment, body, headers, asynq.TaskID(fmt.Sprintf("%s:%d:%d", j.ID, j.Attempt, segment)),
		asynq.Queue(segmentQueue), asynq.MaxRetry(asynqRetries), asynq.Timeout(asynqTimeout)), nil
}

func readSegmentTask(t *asynq.Task) (segmentPayload, error) {
	var p segmentPayload
	if err := json.Unmarshal(t.Payload(), &p); err != nil {
		return p, fmt.Errorf("task %s: the payload is not JSON: %w", t.Type(), err)
	}
	if p.Version != payloadVersion || p.JobID == "" || p.Attempt < 1 || p.Segment < 0 {
		return p, fmt.Errorf("task %s: payload version %d is not readable here: this release reads version %d", t.Type(), p.Version, payloadVersion)
	}
	return p, nil
}

// SendSegment implements export.SegmentSender. A task that is there already is left
// as it is.
func (q *Queue) SendSegment(ctx context.Context, j export.Job, segment int) error {
	task, err := newSegmentTask(j, segment)
	if err != nil {
		return err
	}
	if _, err := q.client.EnqueueContext(ctx, task); err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fault.Wrap(err, fault.Unavailable, "Redis did not take a segment.")
	}
	return nil
}
