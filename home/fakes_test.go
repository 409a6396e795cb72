package home_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rowmill/home"
	"rowmill/internal/cache"
	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }

var (
	now   = time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC)
	today = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
)

// store is a board in memory. Its sections stand in their order.
type store struct {
	mu       sync.Mutex
	sections []home.Section
	names    map[int64]string
	free     map[int64]int64
	loads    int // calls of Sections
	days     []time.Time
	putErr   error
	wait     func(ctx context.Context) error // nil: Sections answers at once
}

func newStore() *store {
	return &store{
		sections: []home.Section{
			{ID: 7, Kind: home.Grid, Title: "여름", Position: 1, From: now.Add(-time.Hour), Until: now.Add(1500 * time.Microsecond), ProductIDs: []int64{5, 2, 99}},
			{ID: 1, Kind: home.Notice, Title: "notice", Position: 2},
			{ID: 3, Kind: home.Ranking, Title: "later", Position: 3, From: now.Add(time.Hour), ProductIDs: []int64{5}},
		},
		names: map[int64]string{5: "Suite", 2: "온돌방"}, // 99 is no more
		free:  map[int64]int64{5: 12},
	}
}

func (s *store) Sections(ctx context.Context) ([]home.Section, error) {
	s.mu.Lock()
	s.loads++
	sections, wait := slices.Clone(s.sections), s.wait
	s.mu.Unlock()
	for i := range sections {
		sections[i].ProductIDs = nil
	}
	if wait != nil {
		if err := wait(ctx); err != nil {
			return nil, err
		}
	}
	return sections, nil
}

func (s *store) Items(_ context.Context, ids []int64) (map[int64][]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := map[int64][]int64{}
	for _, section := range s.sections {
		if slices.Contains(ids, section.ID) && len(section.ProductIDs) > 0 {
			items[section.ID] = slices.Clone(section.ProductIDs)
		}
	}
	return items, nil
}

func (s *store) Products(_ context.Context, ids []int64) (map[int64]string, error) {
	names := maps.Clone(s.names)
	maps.DeleteFunc(names, func(id int64, _ string) bool { return !slices.Contains(ids, id) })
	return names, nil
}

func (s *store) Available(_ context.Context, day time.Time, ids []int64) (map[int64]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.days = append(s.days, day)
	free := maps.Clone(s.free)
	maps.DeleteFunc(free, func(id int64, _ int64) bool { return !slices.Contains(ids, id) })
	return free, nil
}

func (s *store) Section(_ context.Context, id int64) (home.Section, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, section := range s.sections {
		if section.ID == id {
			return section, nil
		}
	}
	return home.Section{}, fault.New(fault.NotFound, "There is no section %d.", id)
}

func (s *store) Put(_ context.Context, changed home.Section) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sections {
		if s.sections[i].ID == changed.ID {
			s.sections[i] = changed
		}
	}
	return s.putErr
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// rename changes a section behind the service's back.
func (s *store) rename(id int64, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sections {
		if s.sections[i].ID == id {
			s.sections[i].Title = title
		}
	}
}

// events counts what a cache tells.
type events struct {
	mu sync.Mutex
	of map[cache.Event]int
}

func (e *events) add(event cache.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[cache.Event]int{}
	}
	e.of[event]++
}

func (e *events) count(event cache.Event) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[event]
}

// open gives a service of the store whose clock stands. Its limit does not end on a
// loaded machine, unless changed.
func open(t *testing.T, s *store, change func(*home.Config)) *home.Service {
	t.Helper()
	c := home.Config{Store: s, Editor: s, Limit: time.Minute, Now: func() time.Time { return now }}
	if change != nil {
		change(&c)
	}
	service, err := home.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	return service
}

func board(t *testing.T, s *home.Service) home.Board {
	t.Helper()
	b, err := s.Board(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// await polls until it is so, or gives up and says of what.
func await(t *testing.T, what string, is func() bool) (took time.Duration) {
	t.Helper()
	began := time.Now()
	limit := time.After(25 * time.Second)
	looks := time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for !is() {
		select {
		case <-limit:
			t.Fatalf("it never came that %s", what)
		case <-looks.C:
		}
	}
	return time.Since(began)
}

func connect(t *testing.T, url string) cache.Client {
	t.Helper()
	client, err := cache.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // the service has closed before
	return client
}
