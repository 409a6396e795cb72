package pool_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rowmill/internal/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func numbers(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func collect[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func TestMapKeepsTheOrderWhateverEndsFirst(t *testing.T) {
	got, err := collect(pool.Map(t.Context(), pool.New(8).Lane(), 16, numbers(1000), func(_ context.Context, i int) (int, error) {
		for range rand.IntN(5) {
			runtime.Gosched()
		}
		return i, nil
	}))
	want := make([]int, 1000)
	for i := range want {
		want[i] = i
	}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %d results in order %v, error %v", len(got), slices.IsSorted(got), err)
	}
}

func TestMapRunsAsManyAsThePoolHasSlotsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		start := time.Now()
		_, err := collect(pool.Map(t.Context(), pool.New(4).Lane(), 10, numbers(40), func(context.Context, int) (int, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return 0, nil
		}))
		if err != nil || most.Load() != 4 {
			t.Errorf("at most %d ran at once, want 4; error %v", most.Load(), err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("40 calls of 1 s on 4 slots took %v, want 10 s", took)
		}
	})
}

func TestMapReadsNoFurtherAheadThanItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int64
		inputs := func(yield func(int, error) bool) {
			for i := range 100 {
				read.Add(1)
				if !yield(i, nil) {
					return
				}
			}
		}
		yielded := int64(0)
		for _, err := range pool.Map(t.Context(), pool.New(50).Lane(), 5, inputs, func(_ context.Context, i int) (int, error) { return i, nil }) {
			if err != nil {
				t.Fatal(err)
			}
			yielded++
			synctest.Wait()
			// the window, the one being yielded and the one that waits for a ticket
			if ahead := read.Load() - yielded; ahead > 6 {
				t.Fatalf("%d inputs read after %d results: %d ahead", read.Load(), yielded, ahead)
			}
		}
	})
}

func TestMapEndsWithTheFirstErrorInOrder(t *testing.T) {
	bad := errors.New("bad")
	got, err := collect(pool.Map(t.Context(), pool.New(4).Lane(), 8, numbers(100), func(_ context.Context, i int) (int, error) {
		if i >= 10 {
			return 0, bad
		}
		return i, nil
	}))
	if !errors.Is(err, bad) || len(got) != 10 {
		t.Fatalf("got %d results and %v, want 10 and %v", len(got), err, bad)
	}
}

func TestMapPassesOnAnErrorOfItsInputs(t *testing.T) {
	bad := errors.New("bad")
	inputs := func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, bad) }
	got, err := collect(pool.Map(t.Context(), pool.New(1).Lane(), 1, inputs, func(_ context.Context, i int) (int, error) { return i, nil }))
	if !errors.Is(err, bad) || len(got) != 1 {
		t.Fatalf("got %v and %v", got, err)
	}
}

func TestMapTakesAPanicForAnError(t *testing.T) {
	_, err := collect(pool.Map(t.Context(), pool.New(1).Lane(), 1, numbers(3), func(context.Context, int) (int, error) { panic("boom") }))
	if err == nil || !strings.Contains(err.Error(), "panic: boom") {
		t.Fatalf("got %v", err)
	}
}

func TestMapNeverTakesACutForTheEnd(t *testing.T) {
	cause := errors.New("canceled by the user")
	for _, at := range []int{0, 1, 7, 99} {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := collect(pool.Map(ctx, pool.New(2).Lane(), 4, numbers(100), func(ctx context.Context, i int) (int, error) {
			if i == at {
				cancel(cause)
			}
			return i, nil
		}))
		if !errors.Is(err, cause) {
			t.Errorf("cut at %d: got error %v, want %v", at, err, cause)
		}
		cancel(nil)
	}
}

func TestMapStopsWhenItsReaderBreaks(t *testing.T) {
	for i, err := range pool.Map(t.Context(), pool.New(4).Lane(), 8, numbers(1000), func(ctx context.Context, i int) (int, error) {
		if i > 0 {
			<-ctx.Done() // only the break ends it
			return 0, ctx.Err()
		}
		return i, nil
	}) {
		if i != 0 || err != nil {
			t.Errorf("got %d, error %v; want 0", i, err)
		}
		break
	}
}

func TestFreeSlotsGoRoundTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(2)
		took := map[string]time.Duration{}
		var mu sync.Mutex
		var jobs sync.WaitGroup
		start := time.Now()
		job := func(name string, pages int) {
			jobs.Go(func() {
				_, err := collect(pool.Map(t.Context(), p.Lane(), 8, numbers(pages), func(context.Context, int) (int, error) {
					time.Sleep(time.Second)
					return 0, nil
				}))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				took[name] = time.Since(start)
			})
		}
		job("large", 100)
		synctest.Wait()
		job("small", 3)
		jobs.Wait()
		if took["small"] > 5*time.Second {
			t.Errorf("3 pages beside 100 took %v: they waited behind the large job", took["small"])
		}
		if took["large"] > 53*time.Second {
			t.Errorf("103 pages on 2 slots took %v: slots stood idle", took["large"])
		}
	})
}

func TestAWaiterThatGivesUpLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(1)
		hold := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_, _ = collect(pool.Map(t.Context(), p.Lane(), 1, numbers(1), func(context.Context, int) (int, error) { <-hold; return 0, nil }))
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := collect(pool.Map(ctx, p.Lane(), 1, numbers(1), func(context.Context, int) (int, error) { return 0, nil }))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(hold)
		all.Wait()
		got, err := collect(pool.Map(t.Context(), p.Lane(), 1, numbers(2), func(_ context.Context, i int) (int, error) { return i, nil }))
		if err != nil || len(got) != 2 {
			t.Errorf("after that the pool gave %v, %v", got, err)
		}
	})
}

func BenchmarkMap(b *testing.B) {
	p := pool.New(4)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range pool.Map(b.Context(), p.Lane(), 8, numbers(1000), func(_ context.Context, i int) (int, error) { return i, nil }) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func TestUsageTellsWhatIsTakenAndWhoWaits(t *testing.T) {
	p := pool.New(2)
	usage := func() [3]int {
		limit, taken, waiting := p.Usage()
		return [3]int{limit, taken, waiting}
	}
	if got := usage(); got != [3]int{2, 0, 0} {
		t.Errorf("unused, it has %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		p = pool.New(2)
		hold := make(chan struct{})
		var done sync.WaitGroup
		for range 2 { // two jobs of three pages each
			done.Go(func() {
				for _, err := range pool.Map(t.Context(), p.Lane(), 3, numbers(3), func(context.Context, int) (int, error) { <-hold; return 0, nil }) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		if got := usage(); got[0] != 2 || got[1] != 2 || got[2] < 2 {
			t.Errorf("with two busy jobs it has %v", got)
		}
		close(hold)
		done.Wait()
		if got := usage(); got != [3]int{2, 0, 0} {
			t.Errorf("afterwards it has %v", got)
		}
	})
}
