package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/access"
	"rowmill/internal/fault"
)

// Limits are what one caller may ask for. How many live jobs a caller may have is
// the job table's to say, whose Insert answers TooMany.
type Limits struct {
	// MaxRows is the most rows of one export, beside the caller's own bound. 0: none.
	MaxRows int64
	// RatePerSecond is how many calls a second a caller may make in the long run, and
	// Burst how many at once; 0: no bound. Burst's default is three seconds' worth.
	RatePerSecond float64
	Burst         int
	// StreamsPerUser is the most event streams that a caller may have open; 0: no
	// bound but MaxStreams.
	StreamsPerUser int
	// TableTimeout is how long a call of the job table may take. Default 5 s.
	TableTimeout time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Burst = cmp.Or(l.Burst, max(1, int(3*l.RatePerSecond)))
	l.TableTimeout = cmp.Or(l.TableTimeout, 5*time.Second)
	return l
}

func (l Limits) validate() error {
	var errs []error
	for name, bad := range map[string]bool{
		"MaxRows": l.MaxRows < 0, "RatePerSecond": l.RatePerSecond < 0, "Burst": l.Burst < 0,
		"StreamsPerUser": l.StreamsPerUser < 0, "TableTimeout": l.TableTimeout < 0,
	} {
		if bad {
			errs = append(errs, errors.New("Limits."+name+" is negative"))
		}
	}
	return errors.Join(errs...)
}

// admit lets a caller pass who does not call too often, nor by another site's page,
// and holds the caller's jobs to what they may do now. Each call counts once, however long its answer is.
func (s *Server) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		caller, known := access.From(ctx)
		if !known {
			return next(c)
		}
		if err := s.rates.take(caller.Subject); err != nil {
			return err
		}
		if requestOf(ctx).byCookie { // after the rate: another site must not fill the audit with its denials
			if err := s.sameOrigin(c.Request()); err != nil {
				return err
			}
		}
		if s.keeper != nil {
			if err := s.keeper.Seen(ctx, caller); err != nil {
				return fault.Wrap(err, fault.Unavailable, "What you may do could not be kept just now. Please try again.")
			}
		}
		return next(c)
	}
}

// maxRows gives the most rows of an export of the caller of ctx; 0: no bound.
func (o *orders) maxRows(ctx context.Context) int64 {
	caller, _ := access.From(ctx)
	bound := o.cfg.Limits.MaxRows
	if own := caller.MaxRows; own > 0 && (bound == 0 || own < bound) {
		bound = own
	}
	return bound
}

// withinRows refuses an export of more rows than the caller may have, also one
// whose rows could not be counted.
func (o *orders) withinRows(ctx context.Context, rows int64, counted bool) error {
	bound := o.maxRows(ctx)
	switch {
	case bound == 0:
		return nil
	case !counted:
		return fault.New(fault.Unavailable, "The rows could not be counted, and you may export at most %d at once. Please try again.", bound)
	case rows > bound:
		return fault.InvalidFields("The export is too large.", fault.Field{Name: "filter", Detail: tooManyRows(rows, bound)})
	}
	return nil
}

func tooManyRows(rows, bound int64) string {
	return fmt.Sprintf("%d rows match and you may export at most %d at once: narrow the filter", rows, bound)
}

// streams counts the open event streams.
type streams struct {
	mu           sync.Mutex
	all, perUser int // bounds; perUser 0: none
	open         int
	by           map[string]int // by subject; those with none are absent
}

// take takes a place for the subject; give gives it back.
func (s *streams) take(subject string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.perUser > 0 && s.by[subject] >= s.perUser:
		f := fault.New(fault.TooMany, "You have %d event streams open, as many as you may have. Close one, or ask for the job itself.", s.perUser)
		f.RetryAfter = retryDefault
		return f
	case s.open >= s.all:
		return fault.New(fault.Overloaded, "All %d event streams are taken. Ask for the job itself meanwhile.", s.all)
	}
	s.open++
	s.by[subject]++
	return nil
}

func (s *streams) give(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[subject]--; s.by[subject] == 0 {
		delete(s.by, subject)
	}
}
