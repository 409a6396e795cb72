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

// Enqueue sends the task of the job's next attempt, to start at its RunAt. A task
// that waits or runs already is left as it is.
func (q *Queue) Enqueue(ctx context.Context, j export.Job) error {
	_, err := q.send(ctx, j)
	return err
}

// send is Enqueue that tells whether there was no such task.
func (q *Queue) send(ctx context.Context, j export.Job) (sent bool, err error) {
	ctx, span := telemetry.Start(ctx, "send "+queueName(j.Queue), telemetry.Producer, telemetry.Number("attempt", j.Attempt+1))
	defer func() { span.End(err) }()
	task, err := newRunTask(j)
	if err != nil {
		return false, err
	}
	_, err = q.client.EnqueueContext(ctx, task)
	if errors.Is(err, asynq.ErrTaskIDConflict) && q.removeEnded(ctx, j, task) {
		_, err = q.client.EnqueueContext(ctx, task)
	}
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "Redis did not take the job.")
	}
	return true, nil
}

// removeEnded removes a task that asynq has given up or keeps for show, since
// its id would block the job for ever.
func (q *Queue) removeEnded(ctx context.Context, j export.Job, task *asynq.Task) bool {
	info, err := q.inspector.GetTaskInfo(queueName(j.Queue), taskID(j))
	if errors.Is(err, asynq.ErrQueueNotFound) {
		// Redis was emptied meanwhile. A client names a queue to Redis once, and no
		// inspector looks into one that is not named: a new client names it again.
		_, _ = asynq.NewClientFromRedisClient(q.redis).EnqueueContext(ctx, task) // the task is there: it conflicts
		info, err = q.inspector.GetTaskInfo(queueName(j.Queue), taskID(j))
	}
	if err != nil || (info.State != asynq.TaskStateArchived && info.State != asynq.TaskStateCompleted) {
		return false
	}
	return q.inspector.DeleteTask(info.Queue, info.ID) == nil
}

// Cancel removes the waiting task of a canceled job. A running attempt sees in
// the job table that it has been canceled, so none has to be told.
func (q *Queue) Cancel(_ context.Context, j export.Job) error {
	err := q.inspector.DeleteTask(queueName(j.Queue), taskID(j))
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return nil
	}
	return fmt.Errorf("remove the task of canceled job %s: %w", j.ID, err)
}
