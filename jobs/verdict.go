package jobs

import (
	"context"
	"errors"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

// errShutdown is why a run ends when its worker is being stopped.
var errShutdown = errors.New("the worker is shutting down")

// errTimeout is why a run ends at its job's time limit.
var errTimeout = fault.New(fault.Unavailable, "The export did not finish within its time limit.")

// action is what becomes of a job whose attempt has ended.
type action uint8

const (
	drop     action = iota // nothing: it succeeded, or it is no longer this attempt's
	handBack               // back to the queue at once, not counted as a failure
	retry                  // back to the queue after a while
	giveUp                 // failed
)

type verdict struct {
	action action
	after  time.Duration   // before the next attempt
	why    *export.Failure // nil unless it counts as a failure
}

// Backoff of a job's attempts: 2 s, 4 s, 8 s … at most a minute, so that a
// passing fault costs seconds and a lasting one does not hammer.
const (
	firstBackoff = 2 * time.Second
	maxBackoff   = time.Minute
)

// decide says what becomes of a job after an attempt ended with err, failures
// attempts having failed before it. It is the only place that decides.
func decide(err error, failures, maxFailures int, now time.Time) verdict {
	switch {
	case err == nil, errors.Is(err, export.ErrFenced), errors.Is(err, export.ErrLeaseLost):
		return verdict{action: drop}
	case errors.Is(err, errShutdown):
		return verdict{action: handBack}
	}
	why := failureOf(err, now)
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Forbidden, fault.Unauthorized, fault.Conflict:
		return verdict{action: giveUp, why: why} // it would fail again
	}
	if failures+1 >= maxFailures {
		return verdict{action: giveUp, why: why}
	}
	after := maxBackoff
	if failures < 5 {
		after = min(maxBackoff, firstBackoff<<failures)
	}
	if f, ok := fault.As(err); ok {
		after = max(after, min(f.RetryAfter, 10*maxBackoff))
	}
	return verdict{action: retry, after: after, why: why}
}

// failureOf puts err in words for the job's owner; the log has the cause.
func failureOf(err error, now time.Time) *export.Failure {
	kind := fault.KindOf(err)
	if errors.Is(err, context.DeadlineExceeded) && kind == fault.Internal {
		kind = fault.Unavailable
	}
	return &export.Failure{Code: kind.String(), Message: fault.Message(err), At: now}
}

// workerLost is the failure of an attempt whose worker fell silent.
func workerLost(now time.Time) *export.Failure {
	return &export.Failure{Code: "worker-lost", Message: "The worker that ran this export stopped answering.", At: now}
}
