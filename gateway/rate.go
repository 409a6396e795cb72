package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"rowmill/internal/fault"
)

// maxRated is how many callers' rates are held at once: some megabytes.
const maxRated = 10_000

// rates bounds how often each caller calls, by a bucket of tokens each.
type rates struct {
	limit rate.Limit // 0: no bound
	burst int
	most  int // buckets held
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newRates(l Limits, now func() time.Time) *rates {
	return &rates{limit: rate.Limit(l.RatePerSecond), burst: l.Burst, most: maxRated, now: now, buckets: map[string]*rate.Limiter{}}
}

// take counts a call of the subject, or returns TooMany and when to come back.
func (r *rates) take(subject string) error {
	if r.limit == 0 {
		return nil
	}
	now := r.now()
	token := r.bucket(subject, now).ReserveN(now, 1)
	wait := token.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	token.CancelAt(now)
	f := fault.New(fault.TooMany, "You call too often: %v calls a second are allowed, %d at once.", float64(r.limit), r.burst)
	f.RetryAfter = wait
	return f
}

func (r *rates) bucket(subject string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.buckets[subject]; ok {
		return b
	}
	if len(r.buckets) >= r.most {
		r.shrink(now)
	}
	b := rate.NewLimiter(r.limit, r.burst)
	r.buckets[subject] = b
	return b
}

// shrink forgets the buckets that are full, which are as new ones. Where that is
// not enough, any go: memory is bounded first.
func (r *rates) shrink(now time.Time) {
	for subject, b := range r.buckets {
		if b.TokensAt(now) >= float64(r.burst) {
			delete(r.buckets, subject)
		}
	}
	for subject := range r.buckets {
		if len(r.buckets) < r.most {
			return
		}
		delete(r.buckets, subject)
	}
}
