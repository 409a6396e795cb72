package pool_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rowmill/internal/pool"
)

// server answers in its time while it has no more calls at once than it can
// bear, and the slower the more there are beyond that.
type server struct {
	bears  atomic.Int64
	inside atomic.Int64
	most   atomic.Int64 // calls at once since the last reset
}

func (s *server) call(ctx context.Context) {
	n := s.inside.Add(1)
	defer s.inside.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	took := 20 * time.Millisecond
	if over := n - s.bears.Load(); over > 0 {
		took *= time.Duration(1 + 2*over)
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
}

func TestAnOverloadedServerIsRelievedWithinASecondAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.bears.Store(16)
		p := pool.NewAdaptive(pool.Limits{Min: 1, Initial: 8, Max: 16}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var job sync.WaitGroup
		job.Go(func() {
			_, err := collect(pool.Map(ctx, p.Lane(), 32, numbers(1_000_000), func(ctx context.Context, _ int) (int, error) { s.call(ctx); return 0, ctx.Err() }))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the job ended with %v before it was stopped", err)
			}
		})
		time.Sleep(10 * time.Second) // it has learnt what is usual
		usual := p.Limit()
		if usual < 8 {
			t.Errorf("a server that bears 16 calls gets at most %d at once", usual)
		}

		s.bears.Store(2)
		time.Sleep(time.Second)
		s.most.Store(0)
		time.Sleep(100 * time.Millisecond)
		if most := s.most.Load(); most > int64(usual)/2+1 {
			t.Errorf("a second after the overload began the server still gets %d calls at once, before it were %d", most, usual)
		}

		s.bears.Store(16)
		time.Sleep(20 * time.Second)
		if got := p.Limit(); got < 8 {
			t.Errorf("after the overload the limit stays at %d", got)
		}
		stop()
		job.Wait()
	})
}

func TestTheLimitsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.bears.Store(1)
		p := pool.NewAdaptive(pool.Limits{Min: 2, Initial: 3, Max: 5}, slog.New(slog.DiscardHandler))
		if p.Limit() != 3 {
			t.Errorf("it begins at %d, want 3", p.Limit())
		}
		for _, err := range pool.Map(t.Context(), p.Lane(), 32, numbers(2000), func(ctx context.Context, _ int) (int, error) { s.call(ctx); return 0, nil }) {
			if err != nil {
				t.Fatal(err)
			}
			if n := p.Limit(); n < 2 || n > 5 {
				t.Fatalf("the limit is %d", n)
			}
		}
		if most := s.most.Load(); most > 5 {
			t.Errorf("%d calls ran at once", most)
		}
	})
}
