package jobs

import (
	"fmt"
	"log/slog"
)

// asynqLog writes asynq's own lines to the product's log.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Info("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "line", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Error("asynq", "line", fmt.Sprint(args...)) }

// Fatal is an error like others: a library does not end the process.
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "line", fmt.Sprint(args...)) }
