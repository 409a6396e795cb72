package home_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/internal/cache"
	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

var shown = home.Board{
	AsOf: now, Day: today,
	Sections: []home.Shown{
		{Section: home.Section{ID: 7, Kind: home.Grid, Title: "여름", Position: 1, From: now.Add(-time.Hour), Until: now.Add(1500 * time.Microsecond), ProductIDs: []int64{5, 2}}, Available: 12},
		{Section: home.Section{ID: 1, Kind: home.Notice, Title: "notice", Position: 2}},
	},
	Products: map[int64]home.Product{5: {Name: "Suite", Available: 12}, 2: {Name: "온돌방"}},
}

func TestTheBoardHasWhatIsVisibleAndFree(t *testing.T) {
	s := newStore()
	service := open(t, s, nil)
	for range 3 {
		if diff := cmp.Diff(shown, board(t, service)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	s.mu.Lock()
	s.free[5] = 11
	s.mu.Unlock()
	if got := board(t, service).Sections[0].Available; got != 11 {
		t.Errorf("%d are free, want 11 at once", got)
	}
	if s.count() != 1 {
		t.Errorf("the structure was read %d times", s.count())
	}
}

// A section comes and goes at its moment, though the copy is older.
func TestASectionComesAndGoesAtItsMoment(t *testing.T) {
	s, at := newStore(), now
	service := open(t, s, func(c *home.Config) { c.Now = func() time.Time { return at } })
	for _, c := range []struct {
		after time.Duration
		want  []int64
	}{
		{-time.Hour - 1, []int64{1}}, {-time.Hour, []int64{7, 1}}, {1499 * time.Microsecond, []int64{7, 1}}, {1500 * time.Microsecond, []int64{1}},
		{time.Hour - 1, []int64{1}}, {time.Hour, []int64{1, 3}},
	} {
		at = now.Add(c.after)
		var got []int64
		for _, section := range board(t, service).Sections {
			got = append(got, section.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", c.after, diff)
		}
	}
	if s.count() != 1 {
		t.Errorf("the structure was read %d times", s.count())
	}
}

func TestTodayIsWhereTheConfigSays(t *testing.T) {
	s := newStore()
	service := open(t, s, func(c *home.Config) { c.Location = time.FixedZone("Asia/Seoul", 9*60*60) })
	board(t, service)
	if _, err := service.Board(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Time{today.AddDate(0, 0, 1), today}, s.days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

func TestABoardThatTakesTooLongIsUnavailable(t *testing.T) {
	s := newStore()
	s.wait = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	service := open(t, s, func(c *home.Config) { c.Limit = 20 * time.Millisecond })
	if _, err := service.Board(t.Context(), today); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := service.Board(gone, today); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is told %v", err)
	}
}

// A hundred who come at once to four processes cause one load. The store answers
// when all of them wait: in three processes for the lock, in all for the flight.
func TestAHundredColdCallersOfFourProcessesCauseOneLoad(t *testing.T) {
	s, url, told := newStore(), testdb.Redis(t), &events{}
	s.wait = func(ctx context.Context) error {
		for told.count(cache.LockWait) < 3 || told.count(cache.SharedWait) < 96 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	}
	const callers, processes = 100, 4
	answers := make(chan error, callers)
	var services []*home.Service
	for range processes {
		services = append(services, open(t, s, func(c *home.Config) { c.Redis, c.Observe = connect(t, url), told.add }))
	}
	for _, service := range services {
		for range callers / processes {
			go func() {
				b, err := service.Board(t.Context(), today)
				if diff := cmp.Diff(shown, b); err == nil && diff != "" {
					err = errors.New(diff)
				}
				answers <- err
			}()
		}
	}
	for range callers {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if s.count() != 1 || told.count(cache.Load) != 1 {
		t.Errorf("%d loads", s.count())
	}
}

// Without Redis the board comes from the store; when Redis is back it is used again.
func TestRedisGoesAndComesBack(t *testing.T) {
	server, s := testdb.NewRedisServer(t), newStore()
	told := []*events{{}, {}}
	var services []*home.Service
	for i := range told {
		services = append(services, open(t, s, func(c *home.Config) {
			c.Redis, c.Observe = connect(t, server.URL()), told[i].add
			c.FirstTTL, c.Limit = time.Millisecond, 5*time.Second
		}))
	}
	for _, service := range services {
		if diff := cmp.Diff(shown, board(t, service)); diff != "" {
			t.Fatal(diff)
		}
	}
	server.Stop()
	cold := open(t, s, func(c *home.Config) { c.Redis, c.Limit = connect(t, server.URL()), 5*time.Second })
	if diff := cmp.Diff(shown, board(t, cold)); diff != "" {
		t.Errorf("a process that starts without Redis (-want +got):\n%s", diff)
	}
	s.rename(7, "without Redis")
	for i, service := range services {
		await(t, "a process without Redis answers what the store has", func() bool { return board(t, service).Sections[0].Title == "without Redis" })
		if told[i].count(cache.RedisError) == 0 {
			t.Error("nothing tells that Redis does not answer")
		}
	}
	before := []int{told[0].count(cache.SecondHit), told[1].count(cache.SecondHit)}
	server.Start()
	for i, service := range services {
		await(t, "a process finds the board in Redis again", func() bool {
			for _, other := range services {
				board(t, other)
			}
			return board(t, service).Sections[0].Title == "without Redis" && told[i].count(cache.SecondHit) > before[i]
		})
	}
}

// A Redis that takes connections and never answers is given up within the limit.
func TestASilentRedisHoldsNobodyUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := &events{}
	service := open(t, newStore(), func(c *home.Config) {
		c.Redis, c.Observe, c.Limit = connect(t, "redis://"+silent.Addr().String()), told.add, 10*time.Second
	})
	if diff := cmp.Diff(shown, board(t, service)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if told.count(cache.RedisError) == 0 {
		t.Error("nothing tells that Redis does not answer")
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewTellsWhatIsMissing(t *testing.T) {
	for name, c := range map[string]home.Config{
		"no store":       {},
		"a negative TTL": {Store: newStore(), FirstTTL: -1},
		"limit":          {Store: newStore(), Limit: -1},
		"TTL with Redis": {Store: newStore(), Redis: connect(t, "redis://127.0.0.1:1"), SecondTTL: -1},
	} {
		if s, err := home.New(c); err == nil {
			s.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
