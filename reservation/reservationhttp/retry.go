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
	"rowmill/internal/pool"
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
// the attempts or the patience are spent. what names the wanted thing in the fault.
func (c *Client) retry(ctx context.Context, what string, try func(ctx context.Context) error) error {
	left := c.patience()
	for tries := 1; ; tries++ {
		asked := time.Now()
		err := try(ctx)
		if err == nil {
			return nil
		}
		_, busy := turnedAway(err)
		if busy {
			pool.Refused(ctx, asked)
		}
		wait, again := left.again(ctx, err)
		if !again {
			return c.giveUp(ctx, what, tries, err)
		}
		level := slog.LevelWarn
		if busy { // it is how a server keeps well, and the pool's size tells
			level = slog.LevelDebug
		}
		c.logger.Log(ctx, level, "reservation API call failed, trying again", slog.String("what", what), slog.Int("tries", tries), slog.Duration("wait", wait), slog.Any("error", err))
		if !pause(ctx, wait) {
			return c.giveUp(ctx, what, tries, err)
		}
	}
}

// pause waits; false means that ctx has ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// patience is what a call has left: tries for faults, and time for a server that
// turns it away.
type patience struct {
	config ClientConfig
	faults int           // tries that have failed
	waited time.Duration // for a server that turned the call away

	afterFault, afterRefusal backoff.BackOff
}

func (c *Client) patience() *patience {
	return &patience{config: c.config, afterFault: c.waits(c.config.MaxWait), afterRefusal: c.waits(min(c.config.MaxWait, mostSpread))}
}

// mostSpread is how far the waits of a call that is turned away grow beyond what
// the server says: longer, and a server with free places would wait for its callers.
const mostSpread = 4 * time.Second

func (c *Client) waits(longest time.Duration) backoff.BackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: c.config.FirstWait, MaxInterval: longest,
		RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2,
	}
}

// again is the one place that decides whether a call whose try ended in err is
// worth another, and after which wait. What the network or a broken answer did may
// go well next time; what the server refuses, it refuses again. A server that turns
// the call away is obeyed as long as patience lasts, also past MaxWait; if it asks
// for more than is left, to come back earlier would be to disobey it. The waits
// grow, or those who wait would come back together for ever.
func (p *patience) again(ctx context.Context, err error) (wait time.Duration, again bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	if after, ok := turnedAway(err); ok {
		wait = max(after+rand.N(after/10+1), p.afterRefusal.NextBackOff())
		wait = max(after, min(wait, p.config.Patience-p.waited))
		p.waited += wait
		return wait, p.waited <= p.config.Patience
	}
	r, refused := errors.AsType[*refusal](err)
	if _, own := fault.As(err); refused && !r.passing() || !refused && own {
		return 0, false
	}
	p.faults++
	return p.afterFault.NextBackOff(), p.faults < p.config.Attempts
}

// turnedAway reports whether the server has asked for the call to come back, and when.
func turnedAway(err error) (after time.Duration, ok bool) {
	r, ok := errors.AsType[*refusal](err)
	if !ok || r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return 0, false
	}
	return r.after, r.after > 0
}

// passing reports whether the call may go well next time.
func (r *refusal) passing() bool {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
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
	if after, busy := turnedAway(last); busy {
		f := fault.Wrap(last, fault.Overloaded, "The reservation API has more calls than it can answer and did not give %s (tries: %d).", what, tries)
		f.RetryAfter = after
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

// mostAfter bounds what is believed of a Retry-After: nobody who means it asks for
// more, and sums of waits must not overflow.
const mostAfter = time.Hour

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3), at
// most mostAfter.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return min(mostAfter, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(mostAfter, max(0, at.Sub(now)))
	}
	return 0
}
