package gateway

import (
	"context"
	"errors"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Why orders are refused, beside the reasons of an export.FullError. The texts are in metrics.
const (
	refusedUserJobs = "user-jobs"
	refusedMaxRows  = "max-rows"
)

// refused counts an order that is not taken on and says when it is worth asking again.
// What one caller has too much of is 429 (RFC 6585, 4), what all have together is 503,
// an overload that passes (RFC 9110, 15.6.4). Other errors stay as they are.
func (o *orders) refused(ctx context.Context, r export.Request, err error) error {
	switch fault.KindOf(err) {
	case fault.Invalid:
		o.countRefused(refusedMaxRows)
	case fault.TooMany:
		o.countRefused(refusedUserJobs)
		return o.tooMany(ctx, err)
	case fault.Full:
		return o.full(ctx, r, err)
	}
	return err
}

func (o *orders) countRefused(reason string) {
	if o.cfg.Refused != nil {
		o.cfg.Refused(reason)
	}
}

// tooMany says when a caller with too many live jobs may come back: when the first
// of them is expected to end.
func (o *orders) tooMany(ctx context.Context, err error) error {
	after := retryDefault
	if o.cfg.Live != nil {
		live, liveErr := o.cfg.Live.Live(ctx, requestOf(ctx).subject)
		if liveErr != nil {
			logger(ctx, o.cfg.Logger).WarnContext(ctx, "live jobs not known", "error", liveErr)
		} else {
			after = export.Remaining(live, o.cfg.Now())
		}
	}
	f := fault.Wrap(err, fault.TooMany, "%s", fault.Message(err))
	f.RetryAfter = after
	return f
}

// full says when there may be room again: when as many rows as are too many have been
// exported, at the pace of the last exports.
func (o *orders) full(ctx context.Context, r export.Request, err error) error {
	var full *export.FullError
	if !errors.As(err, &full) {
		return err
	}
	o.countRefused(string(full.Reason))
	past, pastErr := o.cfg.Board.Measured(ctx, r.Dataset, r.Format)
	if pastErr != nil {
		logger(ctx, o.cfg.Logger).WarnContext(ctx, "what exports cost is not known; the defaults are taken", "error", pastErr)
	}
	f := fault.Wrap(err, fault.Full, "%s", fault.Message(err))
	f.RetryAfter = max(retryDefault, export.RatesOf(r.Format, past).Wait(full.Rows))
	return f
}
