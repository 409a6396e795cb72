// Package jobs carries export jobs from the job table to the workers: asynq
// tasks are the messages, the table is the truth. A task is a ticket: it says that
// a job of its queue is due, and who takes it runs the job that is next by its
// turn. A ticket that is lost is sent again by the sweeper, and one too many finds
// nothing to run.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"rowmill/export"
)

// TypeRun is the kind of the task that runs one attempt of an export job: the next
// one of its queue. A worker of before runs the one that the payload names, and finds
// it taken where another has come first. Kinds, and the payload's fields and version,
// are a contract between releases: a field keeps its name and meaning, and a new
// version is read before it is written.
const TypeRun = "export:run"

// payloadVersion is the newest version that this release reads and the one it writes.
const payloadVersion = 1

// queuePrefix keeps the product's queues apart from others in the same Redis.
const queuePrefix = "rowmill:"

type runPayload struct {
	Version int    `json:"v"`
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"` // that this task is to claim
}

// asynqRetries is how often asynq itself repeats a task whose worker died before
// it claimed the job. The attempts of a job are the table's to count.
const asynqRetries = 5

// asynqTimeout is past any job's own limit, so that asynq never ends a run.
const asynqTimeout = 7 * 24 * time.Hour

// ticketRetry is when a ticket comes again whose worker could not claim: soon, since
// nothing is wrong with any job. After asynqRetries the sweeper sends another.
func ticketRetry(int, error, *asynq.Task) time.Duration { return 2 * time.Second }

// newRunTask gives the task of the job's next attempt. Its id is the attempt's,
// so that sending it again while it waits changes nothing.
func newRunTask(j export.Job) (*asynq.Task, error) {
	return newTask(TypeRun, runPayload{Version: payloadVersion, JobID: j.ID, Attempt: j.Attempt + 1}, j.TraceParent,
		asynq.TaskID(taskID(j)), asynq.Queue(queueName(j.Queue)), asynq.ProcessAt(j.RunAt))
}

// payload is what a task of any kind carries.
type payload interface {
	version() int
	complete() bool // it says all that its kind must say
}

func (p runPayload) version() int   { return p.Version }
func (p runPayload) complete() bool { return p.JobID != "" && p.Attempt >= 1 }

// traceHeader carries a job's trace to who takes its task.
const traceHeader = "traceparent"

func newTask(kind string, p payload, traceParent string, options ...asynq.Option) (*asynq.Task, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a task %s: %w", kind, err)
	}
	var headers map[string]string
	if traceParent != "" {
		headers = map[string]string{traceHeader: traceParent}
	}
	return asynq.NewTaskWithHeaders(kind, body, headers, append(options, asynq.MaxRetry(asynqRetries), asynq.Timeout(asynqTimeout))...), nil
}

// readPayload reads what a task carries, if this release can.
func readPayload[P payload](t *asynq.Task) (p P, err error) {
	if err := json.Unmarshal(t.Payload(), &p); err != nil {
		return p, fmt.Errorf("task %s: the payload is not JSON: %w", t.Type(), err)
	}
	if p.version() != payloadVersion {
		return p, fmt.Errorf("task %s: payload version %d is not readable here: this release reads version %d", t.Type(), p.version(), payloadVersion)
	}
	if !p.complete() {
		return p, fmt.Errorf("task %s: the payload lacks the job, the attempt or the segment that it is for", t.Type())
	}
	return p, nil
}

func taskID(j export.Job) string { return fmt.Sprintf("%s:%d", j.ID, j.Attempt+1) }

// ticketID gives the id of the n-th ticket of the job's next attempt, from 0.
func ticketID(j export.Job, n int) string {
	if n == 0 {
		return taskID(j)
	}
	return fmt.Sprintf("%s.%d", taskID(j), n)
}

func queueName(q export.Queue) string { return queuePrefix + string(q) }

// queueOf gives the queue that asynq took the task of ctx from.
func queueOf(ctx context.Context) export.Queue {
	name, _ := asynq.GetQueueName(ctx)
	return export.Queue(strings.TrimPrefix(name, queuePrefix))
}
