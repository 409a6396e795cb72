package repository

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// smallLists makes lists of a few dozen rows long, so that every way to read a
// page is taken, and outlines are halved.
var smallLists = listSize{long: 40, stride: 3, anchors: 16}

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var listFilters = []map[string][]string{
	nil,
	{"status": {"Canceled"}},
	{"status_ne": {"Canceled", "No-Show"}},
	{"property_id": {"1"}},
	{"check_in_gte": {"2016-06-01"}, "nights_lte": {"9"}},
	{"country": {"PRT", "KOR"}},
	{"agent_null": {"true"}},
	{"guest_name_like": {"Kim"}, "payment_status": {"paid"}},
	{"company": {"none"}},
	{"q": {"0000"}},
}

// randomQuery gives a filter and a sort of the catalog.
func randomQuery(t *testing.T, r *rand.Rand) reservation.Query {
	t.Helper()
	filter, err := reservation.ParseFilter(listFilters[r.IntN(len(listFilters))])
	if err != nil {
		t.Fatal(err)
	}
	var sorts []string
	for _, f := range reservation.StoredFields() {
		if f.Sort {
			sorts = append(sorts, f.Key)
		}
	}
	return reservation.Query{Filter: filter, Sort: reservation.Sort{Field: sorts[r.IntN(len(sorts))], Desc: r.IntN(2) == 0}}
}

func keysOf(list reservation.List) []int64 {
	keys := []int64{}
	for _, row := range list.Rows {
		keys = append(keys, row.Key)
	}
	return keys
}

func TestAPageByNumberIsThatPartOfTheList(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 600)
		r := rand.New(rand.NewPCG(7, 7))
		outlined := 0
		for range 60 {
			q := randomQuery(t, r)
			all := snapshotIDs(t, db, q)
			store := newReservations(db, smallLists, time.Now)
			for range 6 {
				w := reservation.Window{Offset: r.Int64N(int64(len(all)) + 20), Limit: 1 + r.IntN(90)}
				from := min(int(w.Offset), len(all))
				want := append([]int64{}, all[from:min(from+w.Limit, len(all))]...)
				withTotal := r.IntN(2) == 0
				list, err := store.List(t.Context(), q, w, fieldsOf(t, "id"), withTotal)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, keysOf(list)); diff != "" {
					t.Errorf("%v, %+v of %d (-want +got):\n%s", q, w, len(all), diff)
				}
				if withTotal != (list.Total == int64(len(all))) || !withTotal && list.Total != -1 {
					t.Errorf("%v: a total of %d, asked %v; want %d", q, list.Total, withTotal, len(all))
				}
			}
			outlined += len(store.outlines.kept)
		}
		if outlined < 15 {
			t.Errorf("only %d of 60 lists were outlined", outlined)
		}
	})
}

// While rows come, go and move, a page has no row twice and none out of order.
func TestAPageOfAMovingListIsARunOfIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 400)
		r := rand.New(rand.NewPCG(9, 9))
		store, next := newReservations(db, smallLists, time.Now), 3000
		for range 150 {
			switch r.IntN(3) {
			case 0:
				insert(t, db, intoReservations, [][]any{plainRow(next)})
				next++
			case 1:
				exec(t, db, "DELETE FROM reservations WHERE id = ?", 1+r.IntN(400))
			case 2:
				exec(t, db, "UPDATE reservations SET check_in = ?, nights = ? WHERE id = ?", day(r.IntN(900)), r.IntN(20), 1+r.IntN(400))
			}
			q := reservation.Query{Sort: reservation.Sort{Field: [...]string{"id", "check_in", "nights"}[r.IntN(3)], Desc: r.IntN(2) == 0}}
			list, err := store.List(t.Context(), q, reservation.Window{Offset: r.Int64N(330), Limit: 30}, fieldsOf(t, "id"), r.IntN(2) == 0)
			if err != nil {
				t.Fatal(err)
			}
			got, all := keysOf(list), snapshotIDs(t, db, q)
			if len(got) == 0 {
				t.Fatalf("an empty page of %d rows", len(all))
			}
			at := slices.Index(all, got[0])
			if at < 0 || at+len(got) > len(all) || !slices.Equal(all[at:at+len(got)], got) {
				t.Fatalf("%v is no run of the list\n%v", got, all)
			}
		}
	})
}

func TestWhatIsRememberedOfALongListAges(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		for i := range 200 {
			insert(t, db, intoReservations, [][]any{plainRow(i + 1)})
		}
		c := &clock{at: firstDay}
		store := newReservations(db, smallLists, c.now)
		read := func(offset int64) (first, total, statements int64) {
			t.Helper()
			ctx, sent := telemetry.CountStatements(t.Context())
			list, err := store.List(ctx, reservation.Query{}, reservation.Window{Offset: offset, Limit: 10}, fieldsOf(t, "id"), true)
			if err != nil || len(list.Rows) != 10 {
				t.Fatalf("%d rows from %d on, %v", len(list.Rows), offset, err)
			}
			return list.Rows[0].Key, list.Total, sent.Count()
		}
		want := func(offset, first, total, statements int64) {
			t.Helper()
			f, n, s := read(offset)
			if diff := cmp.Diff([]int64{first, total, statements}, []int64{f, n, s}); diff != "" {
				t.Errorf("from %d on: first, total, statements (-want +got):\n%s", offset, diff)
			}
		}
		want(100, 101, 200, 3) // the count, the outline, the page
		exec(t, db, "DELETE FROM reservations WHERE id <= 2")
		want(100, 101, 200, 1) // its place is that of the outline
		want(40, 43, 200, 1)   // early pages are counted from the start
		want(190, 191, 200, 1) // and late ones from the end
		c.at = c.at.Add(reservation.LongListAge - time.Nanosecond)
		want(100, 101, 200, 1)
		c.at = c.at.Add(time.Nanosecond)
		want(100, 103, 198, 3)
	})
}

func TestAShortListIsCountedEachTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 45)
		store := newReservations(db, smallLists, time.Now)
		for _, gone := range []int{5, 6, 7} { // 40 are left, then fewer
			exec(t, db, "DELETE FROM reservations WHERE id <= ?", gone)
			list, err := store.List(t.Context(), reservation.Query{}, reservation.Window{Offset: 30, Limit: 5}, fieldsOf(t, "id"), true)
			if err != nil || list.Total != int64(45-gone) || list.Rows[0].Key != int64(31+gone) {
				t.Errorf("%+v, %v", list, err)
			}
		}
	})
}

// A page never has rows that its total denies.
func TestATotalCoversThePage(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 41)
		store := newReservations(db, smallLists, time.Now)
		for _, want := range []int64{41, 60} {
			list, err := store.List(t.Context(), reservation.Query{}, reservation.Window{Offset: 40, Limit: 20}, fieldsOf(t, "id"), true)
			if err != nil || list.Total != want || int64(len(list.Rows)) != want-40 {
				t.Errorf("%d rows from 40 on, a total of %d, %v; want %d", len(list.Rows), list.Total, err, want)
			}
			for i := range int(60 - want) {
				insert(t, db, intoReservations, [][]any{plainRow(1000 + i)})
			}
		}
	})
}

func mustSelect(t *testing.T, db *DB, q reservation.Query) selection {
	t.Helper()
	s, err := db.selection(q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestManyWhoPageDeepShareOnePass(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 200)
		store := newReservations(db, smallLists, time.Now)
		ctx, sent := telemetry.CountStatements(t.Context())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := store.List(ctx, reservation.Query{}, reservation.Window{Offset: 100, Limit: 5}, fieldsOf(t, "id"), false); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := sent.Count(); n != 9 {
			t.Errorf("%d statements for 8 pages of one list, want 9", n)
		}
		ctx, sent = telemetry.CountStatements(t.Context())
		list, err := store.List(ctx, reservation.Query{}, reservation.Window{Limit: 5}, fieldsOf(t, "id"), true)
		if err != nil || list.Total != 200 || sent.Count() != 1 {
			t.Errorf("a total of %d by %d statements, %v; the pass had counted the rows", list.Total, sent.Count(), err)
		}
	})
}

func TestWaitingForAnOutlineEndsWithTheContext(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 100)
		store := newReservations(db, smallLists, time.Now)
		store.turn <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := reservation.Window{Offset: 50, Limit: 1}
		if _, err := store.List(ctx, reservation.Query{}, w, fieldsOf(t, "id"), false); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		<-store.turn
		if _, err := store.List(ctx, reservation.Query{}, w, fieldsOf(t, "id"), false); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if list, err := store.List(t.Context(), reservation.Query{}, w, fieldsOf(t, "id"), false); err != nil || len(list.Rows) != 1 {
			t.Errorf("a pass that failed blocks the next: %v, %v", list, err)
		}
	})
}

// Whatever is left out, an outline knows how far before a place its anchor lies.
func TestAnOutlineStaysSmall(t *testing.T) {
	for _, rows := range []int64{0, 1, 2, 9, 10, 11, 44, 45, 99, 100, 12_345} {
		o := &outline{stride: 2}
		for id := range rows {
			o.add(4, id, &rawText{bytes: fmt.Append(nil, id/2)})
		}
		if len(o.anchors) > 4 || o.total != rows || rows > 100 && len(o.anchors) < 2 {
			t.Fatalf("%d rows: %+v", rows, o)
		}
		for offset := range rows {
			a, skip := o.before(offset)
			first := int64(0) // the row that follows the anchor
			if a != nil {
				if first = a.id + 1; a.value != fmt.Sprint(a.id/2) {
					t.Errorf("row %d has the value %q", a.id, a.value)
				}
			}
			if first+skip != offset || skip >= o.stride && offset < o.stride*int64(len(o.anchors)) {
				t.Fatalf("%d rows, place %d: %+v and %d further; %+v", rows, offset, a, skip, o)
			}
		}
	}
}

func TestAMemoForgetsTheOldest(t *testing.T) {
	c := &clock{at: firstDay}
	m := newMemo[int](2, time.Minute, c.now)
	k := func(n byte) listKey { return listKey{n} }
	m.put(k(1), c.at.Add(1), 1)
	m.put(k(2), c.at, 2)
	m.put(k(1), c.at.Add(2), 10)
	m.put(k(3), c.at.Add(3), 3)
	for n, want := range map[byte]int{1: 10, 2: 0, 3: 3} {
		if got, ok := m.look(k(n)); got != want || ok != (want != 0) {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
}

func TestSelectionsAreToldApart(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seen := map[listKey]string{}
		for _, values := range []map[string][]string{
			nil, {"status": {"a"}}, {"status": {"b"}}, {"status": {"a", "b"}}, {"status": {`a" "b`}}, {"status_ne": {"a"}},
			{"nights": {"1"}}, {"nights": {"11"}}, {"nights": {"1", "1"}}, {"nights_gte": {"1"}}, {"code": {"1"}}, {"q": {"1"}},
			{"updated_at_gte": {"2016-01-01T00:00:00Z"}}, {"updated_at_gte": {"2016-01-01T00:00:00.000001Z"}},
		} {
			filter, err := reservation.ParseFilter(values)
			if err != nil {
				t.Fatal(err)
			}
			for _, sort := range []reservation.Sort{{Field: "id"}, {Field: "id", Desc: true}, {Field: "nights"}} {
				s, name := mustSelect(t, db, reservation.Query{Filter: filter, Sort: sort}), fmt.Sprint(values, sort)
				if other, had := seen[s.key(true)]; had {
					t.Errorf("%s and %s have one key", name, other)
				}
				seen[s.key(true)] = name
				if s.key(false) != mustSelect(t, db, reservation.Query{Filter: filter}).key(false) {
					t.Errorf("%s: the order is in the key of the total", name)
				}
			}
		}
	})
}
