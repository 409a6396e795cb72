package pool_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rowmill/internal/pool"
)

// doorman lets as many calls in as the server bears and turns the rest away.
type doorman struct {
	bears, inside, refused atomic.Int64
}

// call comes back until it is let in, as a client that obeys does.
func (d *doorman) call(ctx context.Context, _ int) (int, error) {
	for {
		asked := time.Now()
		if d.inside.Add(1) <= d.bears.Load() {
			time.Sleep(20 * time.Millisecond) // of the bubble's clock
			d.inside.Add(-1)
			return 0, nil
		}
		d.inside.Add(-1)
		d.refused.Add(1)
		pool.Refused(ctx, asked)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestThePoolShrinksWhereCallsAreTurnedAwayAndGrowsWhenTheyAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doorman{}
		d.bears.Store(2)
		p := pool.NewAdaptive(pool.Limits{Min: 1, Initial: 8, Max: 8}, discard())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := collect(pool.Map(ctx, p.Lane(), 32, numbers(1_000_000), d.call))
			done <- err
		}()
		time.Sleep(3 * time.Second)
		if p.Limit() > 3 {
			t.Errorf("three seconds on, a server that takes 2 calls gets %d", p.Limit())
		}
		before := d.refused.Swap(0)
		time.Sleep(time.Minute)
		if n := d.refused.Load(); n > 20 {
			t.Errorf("within a minute it turns %d calls away, after %d at first", n, before)
		}
		d.bears.Store(8)
		time.Sleep(30 * time.Second)
		if p.Limit() != 8 {
			t.Errorf("half a minute after the server bears 8 calls it gets %d", p.Limit())
		}
		stop()
		if err := <-done; err == nil {
			t.Error("the job ended before it was stopped")
		}
	})
}

// Calls that were under way when the pool shrank do not shrink it again.
func TestOneBurstOfRefusalsHalvesThePoolOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.NewAdaptive(pool.Limits{Min: 1, Initial: 8, Max: 8}, discard())
		turn := make(chan struct{})
		go func() {
			for range 8 {
				time.Sleep(time.Second)
				turn <- struct{}{}
			}
		}()
		var after []int
		for _, err := range pool.Map(t.Context(), p.Lane(), 8, numbers(8), func(ctx context.Context, _ int) (int, error) {
			asked := time.Now()
			<-turn
			pool.Refused(ctx, asked)
			return 0, nil
		}) {
			if err != nil {
				t.Fatal(err)
			}
			after = append(after, p.Limit())
		}
		if p.Limit() != 4 {
			t.Errorf("8 refusals of one burst leave %d slots, want 4: %v", p.Limit(), after)
		}
	})
}

func TestARefusalOutsideOfAnAdaptivePoolIsNothing(t *testing.T) {
	pool.Refused(t.Context(), time.Now())
	p := pool.New(4)
	if _, err := collect(pool.Map(t.Context(), p.Lane(), 4, numbers(9), func(ctx context.Context, i int) (int, error) {
		pool.Refused(ctx, time.Now())
		return i, nil
	})); err != nil || p.Limit() != 4 {
		t.Errorf("a fixed pool has %d slots after refusals, %v", p.Limit(), err)
	}
}
