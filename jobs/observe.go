package jobs

import (
	"context"
	"errors"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// Ended is told how an attempt ended: "succeeded", "failed", "retried",
// "handed-back" (by a worker that stops) or "fenced" (the job has moved on), with
// the stable code of the failure, "none" where there is none. The sweeper tells of
// the jobs that it fails. nil: nobody counts.
type Ended func(outcome, code string)

func (e Ended) tell(outcome, code string) {
	if e != nil {
		e(outcome, code)
	}
}

// noCode is the code of an end without a failure.
const noCode = "none"

// endOf says in words what a verdict makes of an attempt that ended with err.
func endOf(v verdict, err error) (outcome, code string) {
	if v.why != nil {
		code = v.why.Code
	}
	switch {
	case v.action == giveUp:
		return "failed", code
	case v.action == retry:
		return "retried", code
	case v.action == handBack:
		return "handed-back", noCode
	case errors.Is(err, export.ErrLeaseLost):
		return "fenced", "lease-lost"
	case err != nil:
		return "fenced", noCode
	}
	return "succeeded", noCode
}

// attemptSpan is the span of an attempt. An export is always traced, also one that
// was ordered before there were traces.
func attemptSpan(j export.Job) telemetry.Entry {
	return telemetry.Entry{Name: "export attempt", Kind: telemetry.Consumer, Always: true, Attrs: []telemetry.Attr{
		telemetry.Text("messaging.system", "asynq"), telemetry.Text("messaging.destination.name", queueName(j.Queue)),
		telemetry.Text("rowmill.job_id", j.ID), telemetry.Number("rowmill.attempt", j.Attempt), telemetry.Number("rowmill.failures", j.Failures),
	}}
}

// ended counts the end of an attempt and notes it in its span.
func (w *Worker) ended(span *telemetry.Span, v verdict, err error) (outcome string) {
	outcome, code := endOf(v, err)
	w.cfg.Ended.tell(outcome, code)
	span.Set(telemetry.Text("rowmill.outcome", outcome), telemetry.Text("rowmill.code", code))
	if v.why != nil {
		span.Fail(code)
	}
	return outcome
}

// Beats reports whether the worker has said within export.WorkerLost that it is
// alive; an error says since when not. Before Run it is not.
func (w *Worker) Beats(context.Context) error {
	last := w.beaten.Load()
	if last == 0 {
		return fault.New(fault.Unavailable, "The worker has not started.")
	}
	if silent := w.cfg.Now().Sub(time.Unix(0, last)); silent > export.WorkerLost {
		return fault.New(fault.Unavailable, "The worker has been silent for %v.", silent.Round(time.Second))
	}
	return nil
}

// did tells what a sweep did, and how often.
func (s *Sweeper) did(action string, n int) {
	if s.cfg.Did != nil && n > 0 {
		s.cfg.Did(action, n)
	}
}
