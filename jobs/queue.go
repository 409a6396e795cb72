package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// Queue sends jobs to the workers through Redis. It is safe for concurrent use.
type Queue struct {
	redis     redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
}

// NewQueue returns a queue on the Redis that the URL names: redis:// or
// rediss:// for one server, redis-sentinel:// for Sentinel, redis-socket:// for a socket.
func NewQueue(redisURL string) (*Queue, error) {
	opt, err := redisOption(redisURL)
	if err != nil {
		return nil, err
	}
	c, ok := opt.MakeRedisClient().(redis.UniversalClient)
	if !ok {
		return nil, fault.New(fault.Internal, "The Redis client is not one that this release knows.")
	}
	return &Queue{redis: c, client: asynq.NewClientFromRedisClient(c), inspector: asynq.NewInspectorFromRedisClient(c)}, nil
}

// redisOption reads the URL without ever repeating it in an error: it may hold a password.
func redisOption(redisURL string) (asynq.RedisConnOpt, error) {
	opt, err := asynq.ParseRedisURI(redisURL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The Redis URL is not valid: write it as redis://[user:password@]host:port[/db].")
	}
	return opt, nil
}

// Close ends the connections.
func (q *Queue) Close() error { return q.redis.Close() }

// Ping reports whether Redis answers.
func (q *Queue) Ping(ctx context.Context) error {
	if err := q.redis.Ping(ctx).Err(); err != nil {
		return fault.Wrap(err, fault.Unavailable, "Redis does not answer.")
	}
	return nil
}

// lendings bounds how many tickets of one attempt may be with others at once.
const lendings = 8

// Enqueue sends the ticket of the job's next attempt, to be taken from its RunAt on. One
// that waits already is left as it is. Where it is taken it may have been lent to a job
// that came first by its turn, and one with another id goes on waiting in its place.
func (q *Queue) Enqueue(ctx context.Context, j export.Job) error {
	_, err := q.send(ctx, j, lendings)
	if errors.Is(err, errLent) {
		return nil
	}
	return err
}

// send is Enqueue under at most so many ids, that tells whether no such ticket waited.
// If all of them are taken it returns errLent.
func (q *Queue) send(ctx context.Context, j export.Job, ids int) (sent bool, err error) {
	ctx, span := telemetry.Start(ctx, "send "+queueName(j.Queue), telemetry.Producer, telemetry.Number("attempt", j.Attempt+1))
	defer func() { span.End(err) }()
	task, err := newRunTask(j)
	if err != nil {
		return false, err
	}
	for n := range ids {
		if sent, err = q.enqueue(ctx, j, task, ticketID(j, n)); !errors.Is(err, errLent) {
			break
		}
	}
	if err != nil && !errors.Is(err, errLent) {
		return false, fault.Wrap(err, fault.Unavailable, "Redis did not take the job.")
	}
	return sent, err
}

// errLent says that a ticket has been taken by a worker.
var errLent = errors.New("the ticket is taken")

// enqueue sends the ticket under the id. One that is there and waits is no error.
func (q *Queue) enqueue(ctx context.Context, j export.Job, task *asynq.Task, id string) (sent bool, err error) {
	_, err = q.client.EnqueueContext(ctx, task, asynq.TaskID(id))
	if !errors.Is(err, asynq.ErrTaskIDConflict) {
		return err == nil, err
	}
	switch q.stateOf(ctx, j, task, id) {
	case asynq.TaskStateActive:
		return false, errLent
	case asynq.TaskStateArchived, asynq.TaskStateCompleted: // its id would block the job for ever
		if q.inspector.DeleteTask(queueName(j.Queue), id) == nil {
			_, err = q.client.EnqueueContext(ctx, task, asynq.TaskID(id))
		}
	}
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return false, nil
	}
	return err == nil, err
}

// stateOf gives the state of the ticket of the id; 0 if it is not known.
func (q *Queue) stateOf(ctx context.Context, j export.Job, task *asynq.Task, id string) asynq.TaskState {
	info, err := q.inspector.GetTaskInfo(queueName(j.Queue), id)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		// Redis was emptied meanwhile. A client names a queue to Redis once, and no
		// inspector looks into one that is not named: a new client names it again.
		_, _ = asynq.NewClientFromRedisClient(q.redis).EnqueueContext(ctx, task, asynq.TaskID(id)) // the task is there: it conflicts
		info, err = q.inspector.GetTaskInfo(queueName(j.Queue), id)
	}
	if err != nil {
		return 0
	}
	return info.State
}

// Cancel removes the waiting ticket of a canceled job. A running attempt sees in
// the job table that it has been canceled, so none has to be told.
func (q *Queue) Cancel(_ context.Context, j export.Job) error {
	err := q.inspector.DeleteTask(queueName(j.Queue), taskID(j))
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return nil
	}
	if info, infoErr := q.inspector.GetTaskInfo(queueName(j.Queue), taskID(j)); infoErr == nil && info.State == asynq.TaskStateActive {
		return nil // lent to another job
	}
	return fmt.Errorf("remove the task of canceled job %s: %w", j.ID, err)
}
