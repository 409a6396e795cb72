package repository

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/ingest"
	"rowmill/internal/telemetry"
)

var boardDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// loadBoard fills the database with the board of the sample's size.
func loadBoard(t testing.TB, db *DB) ingest.Home {
	t.Helper()
	src := ingest.Synthetic(50, 1)
	if _, err := ingest.Run(t.Context(), NewLoader(db), src, nil); err != nil {
		t.Fatal(err)
	}
	board, err := ingest.HomeBoard(src.Lookups(), boardDay, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewLoader(db).LoadHome(t.Context(), board); err != nil {
		t.Fatal(err)
	}
	return board
}

// boardOf gives a service that keeps no copies from other tests, at the moment.
func boardOf(t testing.TB, db *DB, now *time.Time) *home.Service {
	t.Helper()
	store := NewHome(db)
	s, err := home.New(home.Config{Store: store, Editor: store, Limit: time.Minute, Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestAColdBoardTakesFourStatementsAndAWarmOneOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		loadBoard(t, db)
		s := boardOf(t, db, &boardDay)
		for _, c := range []struct {
			name string
			want int64
		}{{"cold", 4}, {"warm", 1}} {
			ctx, sent := telemetry.CountStatements(t.Context())
			b, err := s.Board(ctx, boardDay)
			if err != nil || len(b.Sections) == 0 || sent.Count() != c.want {
				t.Errorf("%s: %d sections in %d statements, want %d: %v", c.name, len(b.Sections), sent.Count(), c.want, err)
			}
		}
	})
}

// indexedSQLite fails if SQLite would read a table without an index or sort.
func indexedSQLite(t *testing.T, db *DB, name string, statements []string) {
	t.Helper()
	for _, s := range statements {
		rows, err := db.pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+s)
		if err != nil {
			t.Fatalf("%v: %s", err, s)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(detail, "TEMP B-TREE") || strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "INDEX") {
				t.Errorf("%s: %s\n%.300s", name, detail, s)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheBoardIsReadByIndex(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		board := loadBoard(t, db)
		var others [][]any // or all products there are would be asked for, which a scan is right for
		for id := 1000; id < 3000; id++ {
			others = append(others, []any{id, 1, fmt.Sprint("another ", id)})
		}
		insert(t, db, "products (id, property_id, name)", others)
		check := indexed
		if db.sqlite {
			exec(t, db, "ANALYZE")
			check = indexedSQLite
		} else {
			exec(t, db, "ANALYZE TABLE home_sections, home_section_items, products, product_units, inventories")
		}
		var sections, products []int64
		for _, s := range board.Sections {
			sections = append(sections, s.ID)
			products = append(products, s.ProductIDs...)
		}
		slices.Sort(products)
		products = slices.Compact(products)
		for name, do := range map[string]func(*Home) error{
			"sections":  func(h *Home) error { _, err := h.Sections(t.Context()); return err },
			"items":     func(h *Home) error { _, err := h.Items(t.Context(), sections); return err },
			"products":  func(h *Home) error { _, err := h.Products(t.Context(), products); return err },
			"available": func(h *Home) error { _, err := h.Available(t.Context(), boardDay, products); return err },
			"of one":    func(h *Home) error { _, err := h.Available(t.Context(), boardDay, products[:1]); return err },
			"a section": func(h *Home) error { _, err := h.Section(t.Context(), 9); return err },
		} {
			statements := recorded(t, db, func(db *DB) error { return do(NewHome(db)) })
			if len(statements) == 0 {
				t.Errorf("%s: no statement", name)
			}
			check(t, db, name, statements)
		}
		stored := recorded(t, db, func(db *DB) error {
			return NewHome(db).Put(t.Context(), home.Section{ID: 9, Title: "new", ProductIDs: products[:2]})
		})
		if want := map[bool]int{true: 3, false: 4}[db.sqlite]; len(stored) != want {
			t.Fatalf("a change takes %d statements, want %d: %q", len(stored), want, stored)
		}
		check(t, db, "change", stored[:len(stored)-1]) // the last one inserts
	})
}

// madeUp is a board that a test made up, as the tables have it.
type madeUp struct {
	sections  []home.Section // ProductIDs are what the items name, existing or not
	names     map[int64]string
	units     map[int64]int64          // products by unit
	inventory map[string]map[int64]int // by day and unit
}

func random(r *rand.Rand) madeUp {
	m := madeUp{names: map[int64]string{}, units: map[int64]int64{}, inventory: map[string]map[int64]int{}}
	const products = 12
	for id := range int64(products) {
		if r.IntN(4) > 0 {
			m.names[id+1] = fmt.Sprintf("방 %d", id)
		}
		for range r.IntN(4) { // also of those that do not exist
			m.units[int64(len(m.units))+1] = id + 1
		}
	}
	for d := range 3 {
		free := map[int64]int{}
		for unit := range m.units {
			if r.IntN(5) > 0 {
				free[unit] = r.IntN(20)
			}
		}
		m.inventory[onDay(boardDay.AddDate(0, 0, d))] = free
	}
	for id := range int64(r.IntN(9)) {
		s := home.Section{ID: id + 1, Kind: home.Kinds()[r.IntN(5)], Title: fmt.Sprintf("t%d", id), Position: r.IntN(4)}
		if r.IntN(2) == 0 {
			s.From = boardDay.Add(time.Duration(r.IntN(100)-50) * time.Microsecond)
		}
		if r.IntN(2) == 0 {
			s.Until = boardDay.Add(time.Duration(r.IntN(100)-50) * time.Microsecond)
		}
		if s.Kind.ShowsProducts() {
			for _, p := range r.Perm(products)[:r.IntN(products)] {
				s.ProductIDs = append(s.ProductIDs, int64(p)+1)
			}
		}
		m.sections = append(m.sections, s)
	}
	return m
}

func (m madeUp) store(t *testing.T, db *DB) {
	t.Helper()
	for _, table := range []string{"home_sections", "home_section_items", "products", "product_units", "inventories"} {
		exec(t, db, "DELETE FROM "+table)
	}
	var sections, items, products, units, inventory [][]any
	for _, s := range m.sections {
		sections = append(sections, []any{s.ID, string(s.Kind), s.Title, s.Position, moment{s.From}, moment{s.Until}})
		for i, p := range s.ProductIDs {
			items = append(items, []any{s.ID, 3 * i, p})
		}
	}
	for id, name := range m.names {
		products = append(products, []any{id, 1, name})
	}
	for unit, product := range m.units {
		units = append(units, []any{unit, product, "unit"})
	}
	for day, free := range m.inventory {
		for unit, n := range free {
			inventory = append(inventory, []any{day, unit, n})
		}
	}
	insert(t, db, "home_sections (id, kind, title, position, visible_from, visible_until)", sections)
	insert(t, db, "home_section_items (section_id, position, product_id)", items)
	insert(t, db, "products (id, property_id, name)", products)
	insert(t, db, "product_units (id, product_id, name)", units)
	insert(t, db, "inventories (day, product_unit_id, available)", inventory)
}

// naive is the board by the plainest way: it goes over all there is for each part.
func (m madeUp) naive(now, day time.Time) home.Board {
	b := home.Board{AsOf: now, Day: day, Products: map[int64]home.Product{}}
	for position := range 4 {
		for _, s := range m.sections { // which are in the order of their ids
			early, late := now.Before(s.From), !s.Until.IsZero() && !now.Before(s.Until)
			if s.Position != position || early || late {
				continue
			}
			shown := home.Shown{Section: s}
			shown.ProductIDs = nil
			for _, id := range s.ProductIDs {
				name, exists := m.names[id]
				if !exists {
					continue
				}
				p := home.Product{Name: name}
				for unit, product := range m.units {
					if product == id {
						p.Available += int64(m.inventory[onDay(day)][unit])
					}
				}
				shown.ProductIDs = append(shown.ProductIDs, id)
				shown.Available += p.Available
				b.Products[id] = p
			}
			b.Sections = append(b.Sections, shown)
		}
	}
	return b
}

func TestTheBoardIsWhatThePlainestWayGives(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		products := 0
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := random(r)
			m.store(t, db)
			now := boardDay
			s := boardOf(t, db, &now)
			for range 5 { // of one copy
				now = boardDay.Add(time.Duration(r.IntN(120)-60) * time.Microsecond)
				day := boardDay.AddDate(0, 0, r.IntN(4))
				got, err := s.Board(t.Context(), day)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m.naive(now, day), got); diff != "" {
					t.Fatalf("seed %d at %v (-plain +got):\n%s", seed, now, diff)
				}
				products += len(got.Products)
			}
		}
		if products < 500 {
			t.Errorf("the boards show %d products: too few to tell", products)
		}
	})
}

func TestTheBoardsTablesGiveNothingForNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		ctx, sent := telemetry.CountStatements(t.Context())
		h := NewHome(db)
		items, err1 := h.Items(ctx, nil)
		names, err2 := h.Products(ctx, nil)
		free, err3 := h.Available(ctx, boardDay, nil)
		if err := errors.Join(err1, err2, err3); err != nil || len(items)+len(names)+len(free) != 0 || sent.Count() != 0 {
			t.Errorf("%v %v %v, %d statements, %v", items, names, free, sent.Count(), err)
		}
	})
}
