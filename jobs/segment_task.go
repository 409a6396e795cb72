package jobs

import (
	"context"
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

func (p segmentPayload) version() int   { return p.Version }
func (p segmentPayload) complete() bool { return p.JobID != "" && p.Attempt >= 1 && p.Segment >= 0 }

func newSegmentTask(j export.Job, segment int) (*asynq.Task, error) {
	return newTask(TypeSegment, segmentPayload{Version: payloadVersion, JobID: j.ID, Attempt: j.Attempt, Segment: segment}, j.TraceParent,
		asynq.TaskID(fmt.Sprintf("%s:%d:%d", j.ID, j.Attempt, segment)), asynq.Queue(segmentQueue))
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
