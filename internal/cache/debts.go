package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// errOwed is why a key is left alone in Redis.
var errOwed = errors.New("Redis has not been told of an invalidation")

// debt is an invalidation that Redis has not confirmed.
type debt struct {
	text  string
	turn  uint64    // of the last invalidation of the key: an older one does not pay it
	until time.Time // by then Redis itself has let go of what was to be invalidated
}

// debts are bounded by time: what Redis held at the invalidation is gone when
// the longest life of a value is over, and with it the debt.
type debts struct {
	wake chan struct{}

	mu   sync.Mutex
	turn uint64
	by   map[string]debt
}

func (d *debts) add(texts []string, life time.Duration) (owed []debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until := time.Now().Add(life)
	for _, text := range texts {
		d.turn++
		d.by[text] = debt{text: text, turn: d.turn, until: until}
		owed = append(owed, d.by[text])
	}
	return owed
}

func (d *debts) has(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, owed := d.by[text]
	return owed
}

func (d *debts) paid(owed []debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range owed {
		if d.by[o.text].turn == o.turn {
			delete(d.by, o.text)
		}
	}
}

// open gives what is owed, and forgets what time has paid.
func (d *debts) open() []debt {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.by, func(_ string, o debt) bool { return now.After(o.until) })
	return slices.Collect(maps.Values(d.by))
}

// remind wakes who pays.
func (d *debts) remind() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// payEvery is the pause between two tries to tell Redis what it is owed.
const payEvery = 250 * time.Millisecond

// pay tells Redis what it is owed until ctx ends. It does not ask the breaker:
// nobody waits for it, and that a value has changed is worth a try.
func (s *second) pay(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.debts.wake:
		}
		for owed := s.debts.open(); len(owed) > 0; owed = s.debts.open() {
			s.payAll(ctx, owed)
			select {
			case <-ctx.Done():
				return
			case <-time.After(payEvery):
			}
		}
	}
}

func (s *second) payAll(ctx context.Context, owed []debt) {
	for part := range slices.Chunk(owed, mostTold) {
		limited, cancel := context.WithTimeout(ctx, s.limit)
		err := s.tell(limited, part)
		cancel()
		if err != nil {
			s.counts.add(RedisError)
			return
		}
	}
}
