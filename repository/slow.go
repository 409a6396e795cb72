package repository

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// A statement of the hot path takes milliseconds: a second says that an index is missing.
const slowStatement = time.Second

// maxLoggedSQL cuts the list of ids of a batch.
const maxLoggedSQL = 300

// slowLog logs slow statements, without their values: they may be personal.
// Errors are returned and logged by the caller.
type slowLog struct {
	logger.Interface
	log *slog.Logger
}

func newSlowLog(log *slog.Logger) logger.Interface {
	if log == nil {
		return logger.Discard
	}
	return slowLog{Interface: logger.Discard, log: log}
}

func (l slowLog) LogMode(logger.LogLevel) logger.Interface { return l }

// ParamsFilter keeps the values out of the SQL that gorm hands to Trace.
func (l slowLog) ParamsFilter(_ context.Context, query string, _ ...any) (string, []any) {
	return query, nil
}

func (l slowLog) Trace(ctx context.Context, begin time.Time, statement func() (string, int64), _ error) {
	took := time.Since(begin)
	if took < slowStatement {
		return
	}
	query, _ := statement()
	l.log.WarnContext(ctx, "slow statement", "seconds", took.Seconds(), "statement", query[:min(len(query), maxLoggedSQL)])
}
