package reservationhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"rowmill/internal/fault"
)

// refusal is an answer with a status that is no success.
type refusal struct {
	status int
	after  time.Duration // Retry-After; 0: not said
	fault  *fault.Error
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %v", r.status, r.fault) }

func (r *refusal) Unwrap() error { return r.fault }

// retry runs try until it succeeds, until another try is of no use, or until
// the attempts are spent. what names the wanted thing in the fault.
func (c *Client) retry(ctx context.Context, what string, try func(ctx context.Context) error) error {
	var last error
	tries := 0
	operation := func() (struct{}, error) {
		tries++
		last = try(ctx)
		wait, again := c.again(ctx, last)
		switch {
		case last == nil:
		case !again:
			return struct{}{}, backoff.Permanent(last)
		case wait > 0:
			wait += rand.N(wait/10 + 1) // or all who were turned away come back at once
			return struct{}{}, errors.Join(&backoff.RetryAfterError{Duration: wait}, last)
		}
		return struct{}{}, last
	}
	_, err := backoff.Retry(ctx, operation, backoff.WithBackOff(c.waits()), backoff.WithMaxElapsedTime(0),
		backoff.WithMaxTries(uint(c.config.Attempts)), backoff.WithNotify(func(_ error, wait time.Duration) {
			c.logger.WarnContext(ctx, "reservation API call failed, trying again", slog.String("what", what), slog.Int("tries", tries), slog.Duration("wait", wait), slog.Any("error", last))
		}))
	if err == nil {
		return nil
	}
	return c.giveUp(ctx, what, tries, last)
}

func (c *Client) waits() backoff.BackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: c.config.FirstWait, MaxInterval: c.config.MaxWait,
		RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2,
	}
}

// again is the one place that decides whether a call that ended in err is worth
// another try, and after which wait; 0 leaves the wait to the backoff. What the
// network, a busy server or a broken answer did may go well next time; what the
// server refuses, it refuses again.
func (c *Client) again(ctx context.Context, err error) (wait time.Duration, again bool) {
	if err == nil || ctx.Err() != nil {
		return 0, false
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		switch r.status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return r.after, r.after <= c.config.MaxWait
		}
		return 0, false
	}
	_, own := fault.As(err)
	return 0, !own
}

// giveUp makes the fault of a call that failed for good.
func (c *Client) giveUp(ctx context.Context, what string, tries int, last error) error {
	if ended := ctx.Err(); ended != nil {
		if cause := context.Cause(ctx); !errors.Is(ended, cause) {
			ended = errors.Join(ended, cause)
		}
		return fmt.Errorf("reading %s: %w", what, ended)
	}
	r, ok := errors.AsType[*refusal](last)
	if _, own := fault.As(last); own && !ok {
		return last
	}
	if ok && r.status < 500 && r.status != http.StatusTooManyRequests {
		f := fault.Wrap(last, r.fault.Kind, "%s", r.fault.Message)
		f.Fields = r.fault.Fields
		return f
	}
	kind := fault.Unavailable
	if ok && r.status == http.StatusTooManyRequests {
		kind = fault.Overloaded
	}
	f := fault.Wrap(last, kind, "The reservation API did not give %s (tries: %d).", what, tries)
	if ok {
		f.RetryAfter = r.after
	}
	return f
}

// refusalOf reads an answer that is no success. Something between may have
// given it, so it need not be a problem.
func refusalOf(res *http.Response) error {
	r := &refusal{status: res.StatusCode, after: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	p, ok := readProblem(res.Body)
	kind, known := kindOfName[p.kind]
	if !ok || !known {
		kind = kindOfStatus(res.StatusCode)
	}
	r.fault = fault.New(kind, "%s", p.detail)
	if !ok || p.detail == "" {
		r.fault.Message = fmt.Sprintf("The reservation API answered with status %d.", res.StatusCode)
	}
	r.fault.Fields, r.fault.RetryAfter = p.fields, r.after
	return r
}

func kindOfStatus(status int) fault.Kind {
	for kind, s := range statuses {
		if s.status == status {
			return kind
		}
	}
	if status >= 400 && status < 500 {
		return fault.Invalid // such as 413: this very call fails again
	}
	return fault.Unavailable
}

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
