package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is what batches read: the squares of even keys; odd ones are absent.
type table struct {
	mu      sync.Mutex
	batches [][]int
	hold    chan struct{} // nil: a read does not wait
	err     error
	crash   any
}

func (t *table) read(ctx context.Context, keys []int) (map[int]int, error) {
	t.mu.Lock()
	t.batches = append(t.batches, slices.Clone(keys))
	err, crash := t.err, t.crash
	t.mu.Unlock()
	if t.hold != nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.hold:
		}
	}
	if crash != nil {
		panic(crash)
	}
	values := map[int]int{}
	for _, key := range keys {
		if key%2 == 0 {
			values[key] = key * key
		}
	}
	clear(keys) // nobody else needs them
	return values, err
}

func open(t *testing.T, from *table, limit int) *Loader[int, int] {
	t.Helper()
	l := New(t.Context(), from.read, limit)
	t.Cleanup(l.Close)
	return l
}

func TestOneAfterTheOtherIsReadOnceWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &table{}
		l := open(t, from, 0)
		for _, key := range []int{4, 3, 4, 3, 6} {
			value, found, err := l.Load(t.Context(), key)
			if want := key%2 == 0; err != nil || found != want || (found && value != key*key) {
				t.Errorf("Load(%d) = %d, %v, %v", key, value, found, err)
			}
		}
		if diff := cmp.Diff([][]int{{4}, {3}, {6}}, from.batches); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWantedKeysGoWithTheFirstThatIsAsked(t *testing.T) {
	from := &table{}
	l := open(t, from, 0)
	l.Want(2, 4, 4, 7)
	if len(from.batches) != 0 {
		t.Errorf("Want has read %v", from.batches)
	}
	for _, key := range []int{8, 7, 2} {
		if _, _, err := l.Load(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([][]int{{2, 4, 7, 8}}, from.batches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyAreSplitAtTheLimit(t *testing.T) {
	tests := []struct {
		limit, keys int
		want        []int // keys of each batch
	}{
		{0, 1, []int{1}},
		{0, Limit, []int{Limit}},
		{0, Limit + 1, []int{Limit, 1}},
		{0, 2*Limit + 5, []int{Limit, Limit, 5}},
		{3, 7, []int{3, 3, 1}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d by %d", test.keys, test.limit), func(t *testing.T) {
			from := &table{}
			l := open(t, from, test.limit)
			var keys []int
			for i := range test.keys {
				keys = append(keys, 2*i, 2*i) // each twice
			}
			got, err := l.LoadMany(t.Context(), keys)
			if err != nil || len(got) != test.keys {
				t.Fatalf("%d values, %v", len(got), err)
			}
			var sizes []int
			for _, batch := range from.batches {
				sizes = append(sizes, len(batch))
			}
			if diff := cmp.Diff(test.want, sizes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysGatherWhileABatchIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &table{hold: make(chan struct{})}
		l := open(t, from, 0)
		var askers sync.WaitGroup
		ask := func(key int) {
			askers.Go(func() {
				if value, found, err := l.Load(t.Context(), key); err != nil || !found || value != key*key {
					t.Errorf("Load(%d) = %d, %v, %v", key, value, found, err)
				}
			})
			synctest.Wait()
		}
		ask(2)
		for range 100 { // of which ten keys, and one that is being read
			for key := 0; key <= 20; key += 2 {
				ask(key)
			}
		}
		close(from.hold)
		askers.Wait()
		if diff := cmp.Diff([][]int{{2}, {0, 4, 6, 8, 10, 12, 14, 16, 18, 20}}, from.batches); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOneWhoGoesHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &table{hold: make(chan struct{})}
		l := open(t, from, 0)
		first, leave := context.WithCancel(t.Context())
		left, got := make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := l.Load(first, 2); left <- err }()
		synctest.Wait()
		go func() { _, _, err := l.Load(t.Context(), 2); got <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v", err)
		}
		close(from.hold)
		if err := <-got; err != nil {
			t.Errorf("the one who stayed got %v", err)
		}
		if diff := cmp.Diff([][]int{{2}}, from.batches); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, found, err := l.Load(first, 2); err != nil || !found {
			t.Errorf("what is known is not given to whose time is over: %v, %v", found, err)
		}
	})
}

func TestAnErrorIsForgotten(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		set  func(*table)
		want func(error) bool
	}{
		{"error", func(f *table) { f.err = broken }, func(err error) bool { return errors.Is(err, broken) }},
		{"panic", func(f *table) { f.crash = "out of range" }, func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "panic: out of range")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from := &table{}
			l := open(t, from, 2)
			if _, err := l.LoadMany(t.Context(), []int{2, 3}); err != nil {
				t.Fatal(err)
			}
			test.set(from)
			l.Want(10)
			if _, _, err := l.Load(t.Context(), 4); !test.want(err) {
				t.Errorf("got %v", err)
			}
			if _, err := l.LoadMany(t.Context(), []int{2, 6}); !test.want(err) {
				t.Errorf("got %v", err)
			}
			from.err, from.crash = nil, nil
			got, err := l.LoadMany(t.Context(), []int{2, 3, 4, 6})
			if diff := cmp.Diff(map[int]int{2: 4, 4: 16, 6: 36}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			// 2 and 3 are known; 10, which was wanted, failed with 4 and nobody has asked for it.
			if diff := cmp.Diff([][]int{{2, 3}, {10, 4}, {6}, {4, 6}}, from.batches); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrimedKeysAreNotRead(t *testing.T) {
	from := &table{}
	l := open(t, from, 0)
	l.Prime(2, 200)
	if value, found, err := l.Load(t.Context(), 2); value != 200 || !found || err != nil {
		t.Errorf("got %d, %v, %v", value, found, err)
	}
	if _, _, err := l.Load(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	l.Prime(4, 400)
	if value, _, _ := l.Load(t.Context(), 4); value != 16 {
		t.Errorf("what was read became %d", value)
	}
	if diff := cmp.Diff([][]int{{4}}, from.batches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheRequestsEndEndsTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &table{hold: make(chan struct{})}
		ctx, end := context.WithCancel(t.Context())
		l := New(ctx, from.read, 0)
		got := make(chan error, 1)
		go func() { _, _, err := l.Load(t.Context(), 2); got <- err }()
		synctest.Wait()
		end()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, _, err := l.Load(t.Context(), 4); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		l.Close()
		if _, err := l.LoadMany(t.Context(), []int{6}); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([][]int{{2}}, from.batches); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func BenchmarkKnown(b *testing.B) {
	from := &table{}
	l := New(b.Context(), from.read, 0)
	defer l.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := l.Load(b.Context(), 2); err != nil {
			b.Fatal(err)
		}
	}
}
