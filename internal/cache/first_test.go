package cache

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAValueIsFreshThenStaleThenGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		c := open(t, from)
		defer c.Close()
		wantGet(t, c, 1, "old")
		from.set(1, "new")
		time.Sleep(5*time.Second - 1)
		wantGet(t, c, 1, "old")
		synctest.Wait()
		wantLoads(t, from, 1)

		time.Sleep(time.Nanosecond)
		held := from.hold()
		for range 10 { // all get it at once, while one refresh runs
			wantGet(t, c, 1, "old")
		}
		close(<-held)
		from.letGo()
		synctest.Wait()
		wantLoads(t, from, 2)
		wantGet(t, c, 1, "new")

		from.set(1, "newest")
		time.Sleep(35*time.Second - 1)
		wantGet(t, c, 1, "new")
		synctest.Wait()
		wantGet(t, c, 1, "newest")
		from.set(1, "last")
		time.Sleep(35 * time.Second)
		wantGet(t, c, 1, "last")
		wantLoads(t, from, 4)
		if got := c.Stats(); got.StaleHits != 11 {
			t.Errorf("%d stale hits, want 11", got.StaleHits)
		}
	})
}

func TestNothingStaleIsGivenIfSoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		c := open(t, from, func(c *textConfig) { c.StaleFor = -1 })
		defer c.Close()
		wantGet(t, c, 1, "old")
		from.set(1, "new")
		time.Sleep(5 * time.Second)
		wantGet(t, c, 1, "new")
	})
}

func TestTimesToLiveAreJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		c := open(t, from, func(c *textConfig) { c.Random = seeded() })
		defer c.Close()
		low, high := time.Hour, time.Duration(0)
		for key := range int64(1000) {
			from.set(key, "value")
			wantGet(t, c, key, "value")
			e, _ := c.first.GetIfPresent(key)
			low, high = min(low, e.fresh-c.now()), max(high, e.fresh-c.now())
		}
		if low < 4500*time.Millisecond || low > 4550*time.Millisecond || high > 5500*time.Millisecond || high < 5450*time.Millisecond {
			t.Errorf("times to live from %v to %v, want nearly all of 4.5 s to 5.5 s", low, high)
		}
	})
}

func TestAbsenceIsKeptForAShorterTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		c := open(t, from, func(c *textConfig) { c.AbsentTTL = 2 * time.Second })
		defer c.Close()
		wantGet(t, c, 1, "absent")
		from.set(1, "here")
		time.Sleep(2*time.Second - 1)
		wantGet(t, c, 1, "absent")
		wantLoads(t, from, 1)
		time.Sleep(time.Nanosecond)
		wantGet(t, c, 1, "here") // never stale
		wantLoads(t, from, 2)
	})
}

func TestManyColdCallersShareALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "value")
		held := from.hold()
		c := open(t, from)
		defer c.Close()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { wantGet(t, c, 1, "value") })
		}
		synctest.Wait()
		close(<-held)
		callers.Wait()
		wantLoads(t, from, 1)
		if got := c.Stats().SharedWaits; got != 99 {
			t.Errorf("%d shared waits, want 99", got)
		}
	})
}

func TestOneWhoGoesHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "value")
		held := from.hold()
		c := open(t, from)
		defer c.Close()
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { _, _, err := c.Get(first, 1); left <- err }()
		goOn := <-held // the first caller's flight loads
		var others sync.WaitGroup
		for range 10 {
			others.Go(func() { wantGet(t, c, 1, "value") })
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v", err)
		}
		close(goOn)
		others.Wait()
		wantLoads(t, from, 1)
	})
}

func TestAFailedLoadIsNotKept(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		crash any
		want  string
	}{
		{"error", errBroken, nil, "error: load into cache texts: broken"},
		{"panic", nil, "out of range", "error: load into cache texts: panic: out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := newSource()
				from.fail(test.err, test.crash)
				held := from.hold()
				c := open(t, from)
				defer c.Close()
				var callers sync.WaitGroup
				for range 10 {
					callers.Go(func() { wantGet(t, c, 1, test.want) })
				}
				synctest.Wait()
				close(<-held)
				callers.Wait()
				wantLoads(t, from, 1)
				from.letGo()
				from.set(1, "value")
				from.fail(nil, nil)
				wantGet(t, c, 1, "value")
				wantLoads(t, from, 2)
				if got := c.Stats(); got.Loads != 2 || got.LoadErrors != 1 {
					t.Errorf("stats: %+v", got)
				}
			})
		})
	}
}

func TestAFailedRefreshKeepsTheStaleValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		c := open(t, from)
		defer c.Close()
		wantGet(t, c, 1, "old")
		from.fail(errBroken, nil)
		for range 3 {
			time.Sleep(10 * time.Second)
			wantGet(t, c, 1, "old")
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		if got := get(t, c, 1); !strings.HasPrefix(got, "error") {
			t.Errorf("after its last time the value is still given: %q", got)
		}
		wantLoads(t, from, 5)
	})
}

func TestALoadHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		_ = from.hold() // for ever
		c := open(t, from, func(c *textConfig) { c.LoadLimit = 3 * time.Second })
		defer c.Close()
		began := time.Now()
		if _, _, err := c.Get(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v, want 3 s", took)
		}
	})
}

func TestASlowLoadPutsNothingOldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		held := from.hold()
		c := open(t, from)
		defer c.Close()
		var before sync.WaitGroup
		before.Go(func() { wantGet(t, c, 1, "old") })
		slow := <-held
		from.letGo()
		from.set(1, "new")
		if err := c.Invalidate(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		wantGet(t, c, 1, "new") // does not wait for the slow one
		close(slow)
		before.Wait()
		synctest.Wait()
		wantGet(t, c, 1, "new")
		wantLoads(t, from, 2)
		if got := c.Stats(); got.Outdated != 1 || got.Invalidations != 1 {
			t.Errorf("stats: %+v", got)
		}
	})
}

// The other order: what has been kept is dropped.
func TestInvalidateDropsWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		c := open(t, from)
		defer c.Close()
		wantGet(t, c, 1, "old")
		wantGet(t, c, 2, "absent")
		from.set(1, "new")
		from.set(2, "new, too")
		if err := c.Invalidate(t.Context(), 1, 2, 3); err != nil {
			t.Fatal(err)
		}
		wantGet(t, c, 1, "new")
		wantGet(t, c, 2, "new, too")
	})
}

// A refresh that is under way at an invalidation must not bring its value either.
func TestASlowRefreshPutsNothingOldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newSource()
		from.set(1, "old")
		c := open(t, from)
		defer c.Close()
		wantGet(t, c, 1, "old")
		time.Sleep(6 * time.Second)
		held := from.hold()
		wantGet(t, c, 1, "old")
		slow := <-held
		from.letGo()
		from.set(1, "new")
		if err := c.Invalidate(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		close(slow)
		synctest.Wait()
		wantGet(t, c, 1, "new")
	})
}
