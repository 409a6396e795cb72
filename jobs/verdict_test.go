package jobs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	busy := fault.New(fault.Overloaded, "The API asks to wait.")
	busy.RetryAfter = 30 * time.Second
	for _, c := range []struct {
		name     string
		err      error
		failures int
		action   action
		after    time.Duration
		code     string // "": not counted as a failure
	}{
		{"success", nil, 0, drop, 0, ""},
		{"canceled, or taken over", fmt.Errorf("publish: %w", export.ErrFenced), 0, drop, 0, ""},
		{"the lease ran out", export.ErrLeaseLost, 0, drop, 0, ""},
		{"shutdown", fmt.Errorf("fetch: %w", errShutdown), 0, handBack, 0, ""},
		{"shutdown after failures", errShutdown, 4, handBack, 0, ""},
		{"bad request", fault.New(fault.Invalid, "The filter is not valid."), 0, giveUp, 0, "invalid"},
		{"denied", fault.New(fault.Forbidden, "No."), 0, giveUp, 0, "forbidden"},
		{"API away", fault.New(fault.Unavailable, "The API does not answer."), 0, retry, 2 * time.Second, "unavailable"},
		{"API away again", fault.New(fault.Unavailable, "The API does not answer."), 3, retry, 16 * time.Second, "unavailable"},
		{"API away for the last time", fault.New(fault.Unavailable, "The API does not answer."), 4, giveUp, 0, "unavailable"},
		{"API asks to wait", busy, 0, retry, 30 * time.Second, "overloaded"},
		{"time limit", fmt.Errorf("fetch: %w", errTimeout), 0, retry, 2 * time.Second, "unavailable"},
		{"deadline of a call", context.DeadlineExceeded, 0, retry, 2 * time.Second, "unavailable"},
		{"a bug", errors.New("index out of range"), 1, retry, 4 * time.Second, "internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := decide(c.err, c.failures, 5, now)
			if v.action != c.action || v.after != c.after {
				t.Errorf("got action %d after %v, want %d after %v", v.action, v.after, c.action, c.after)
			}
			switch {
			case c.code == "" && v.why != nil:
				t.Errorf("counted as a failure: %+v", v.why)
			case c.code != "" && (v.why == nil || v.why.Code != c.code || !v.why.At.Equal(now)):
				t.Errorf("got failure %+v, want code %q", v.why, c.code)
			}
		})
	}
}

func TestAFailureNeverShowsItsCause(t *testing.T) {
	err := fault.Wrap(errors.New("dial tcp 10.0.0.7:3306: root password"), fault.Unavailable, "The database does not answer.")
	if got := decide(err, 0, 5, time.Now()).why.Message; got != "The database does not answer." {
		t.Errorf("got %q", got)
	}
	if got := decide(errors.New("secret"), 0, 5, time.Now()).why.Message; got != "Something went wrong on our side. The log has the cause." {
		t.Errorf("got %q", got)
	}
}

func TestTheBackoffIsBounded(t *testing.T) {
	for failures := range 90 {
		if v := decide(errors.New("x"), failures, 100, time.Now()); v.after <= 0 || v.after > maxBackoff {
			t.Fatalf("after %d failures the next attempt waits %v", failures, v.after)
		}
	}
}
