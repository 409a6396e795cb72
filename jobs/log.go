package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogRedis sends the lines of the Redis client, which has one logger for the
// process, to log. Call it before the first queue is made.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.WarnContext(ctx, "redis client", "line", fmt.Sprintf(format, v...))
}

// asynqLog writes asynq's own lines to the product's log.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Info("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Error("asynq", "line", fmt.Sprint(args...)) }

// Fatal is an error like others: a library does not end the process.
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "line", fmt.Sprint(args...)) }
