package repository

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// seedHouses fills the tables with n reservations of the properties 1 to 7, and
// gives the property of each.
func seedHouses(t *testing.T, db *DB, n int) map[int64]int64 {
	t.Helper()
	seed(t, db, n)
	exec(t, db, "UPDATE reservations SET property_id = 1 + id % 7")
	houses := map[int64]int64{}
	for id := range int64(n) {
		houses[id+1] = 1 + (id+1)%7
	}
	return houses
}

// seenIn keeps the ids whose house the scope sees.
func seenIn(ids []int64, houses map[int64]int64, properties []int64) []int64 {
	var seen []int64
	for _, id := range ids {
		if properties == nil || slices.Contains(properties, houses[id]) {
			seen = append(seen, id)
		}
	}
	return seen
}

func rowKeys(rows []table.Row) (ids []int64) {
	for _, row := range rows {
		ids = append(ids, row.Key)
	}
	return ids
}

// thousand is as many properties as a scope may name, 3 and 5 being the only ones
// that there are.
func thousand() []int64 {
	ids := []int64{5, 3}
	for id := int64(1000); len(ids) < reservation.MaxProperties; id += 3 {
		ids = append(ids, id)
	}
	return ids
}

var scopes = map[string][]int64{
	"all": nil, "none": {}, "one": {3}, "two": {5, 3}, "one twice": {3, 3}, "one that is not there": {99}, "a thousand": thousand(),
}

// Whatever way a row is asked for, it is seen if its house is in the scope and not
// otherwise; and a scope costs no statement more, an empty one none at all.
func TestAScopeHoldsOnEveryPath(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		houses := seedHouses(t, db, 700)
		for name, properties := range scopes {
			for _, filter := range []map[string][]string{nil, {"status": {"Check-Out", "No-Show"}}, {"customer_type": {"Group"}}} {
				for i, sort := range []string{"id", "code", "check_in", "status"} {
					parsed, err := reservation.ParseFilter(filter)
					if err != nil {
						t.Fatal(err)
					}
					q := reservation.Query{Filter: parsed, Sort: reservation.Sort{Field: sort, Desc: i%2 == 1}}
					want := seenIn(snapshotIDs(t, db, q), houses, properties)
					q.Scope.Properties = properties
					if got := snapshotIDs(t, db, q); !slices.Equal(want, got) {
						t.Errorf("%s, %v by %s: the snapshot has %d ids, want %d", name, filter, sort, len(got), len(want))
					}
					listsAre(t, db, q, want)
				}
			}
		}
	})
}

// listsAre reads the list from its start, its end, its middle, its far end, and
// by going on after rows.
func listsAre(t *testing.T, db *DB, q reservation.Query, want []int64) {
	t.Helper()
	const limit = 10
	store := newReservations(db, listSize{20, 5, 50}, time.Now)
	check := func(w reservation.Window, from int) {
		t.Helper()
		list, err := store.List(t.Context(), q, w, fieldsOf(t, "id", "property_id"), true)
		if err != nil || list.Total != int64(len(want)) {
			t.Fatalf("%+v: a total of %d, want %d: %v", w, list.Total, len(want), err)
		}
		if diff := cmp.Diff(rowKeys(list.Rows), want[min(from, len(want)):min(from+limit, len(want))], cmpEmpty); diff != "" {
			t.Fatalf("%+v of %+v: %s", w, q, diff)
		}
	}
	for _, from := range []int{0, 15, len(want) / 2, len(want) - 5, len(want), len(want) + 40} {
		from = max(from, 0)
		check(reservation.Window{Offset: int64(from), Limit: limit}, from)
		if from > 0 && from < len(want) {
			check(reservation.Window{After: &want[from-1], Limit: limit}, from)
		}
	}
}

var cmpEmpty = cmp.Transformer("empty", func(ids []int64) string { return fmt.Sprint(ids) })

func TestABatchNamesRowsOutsideOfTheScopeAbsent(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		houses := seedHouses(t, db, 3000)
		sparse := make([]int64, 0, 1000)
		for id := int64(3000); id > 0; id -= 3 { // too far apart for a range, and more than one list
			sparse = append(sparse, id)
		}
		dense := slices.Clone(sparse[:0:0])
		for id := int64(1); id <= 200; id++ {
			dense = append(dense, id)
		}
		fields := fieldsOf(t, "id", "property_id", "guest_name", "amount")
		for name, properties := range scopes {
			for _, ids := range [][]int64{sparse, dense, {5_000_000}} {
				ctx, sent := telemetry.CountStatements(t.Context())
				b, err := NewReservations(db).Batch(ctx, access.Scope{Properties: properties}, ids, fields)
				if err != nil {
					t.Fatal(err)
				}
				want := seenIn(ids, houses, properties)
				if ids[0] > 3000 {
					want = nil
				}
				if diff := cmp.Diff(want, rowKeys(b.Rows), cmpEmpty); diff != "" || len(b.Rows)+len(b.Absent) != len(ids) {
					t.Errorf("%s: %d rows and %d absent of %d, want %d rows", name, len(b.Rows), len(b.Absent), len(ids), len(want))
				}
				for _, row := range b.Rows {
					if row.Values[1] != table.IntegerOf(houses[row.Key]) {
						t.Fatalf("%s: row %d is %v", name, row.Key, row.Values)
					}
				}
				cost := int64(3)
				switch {
				case properties != nil && len(properties) == 0:
					cost = 0
				case len(want) == 0:
					cost = 1
				}
				if sent.Count() != cost {
					t.Errorf("%s: %d statements for %d ids, want %d", name, sent.Count(), len(ids), cost)
				}
			}
		}
	})
}

// A scope is one more term of the same statements.
func TestAScopeCostsNoStatement(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seedHouses(t, db, 700)
		store := NewReservations(db)
		fields := fieldsOf(t, reservation.DefaultFields()...)
		for name, properties := range scopes {
			q := reservation.Query{Sort: reservation.Sort{Field: "check_in"}, Scope: access.Scope{Properties: properties}}
			none := properties != nil && len(properties) == 0
			want := map[string]int64{"snapshot": 1, "list": cost(fields) + 1}
			if none {
				want = map[string]int64{"snapshot": 0, "list": 0}
			} else if slices.Equal(properties, []int64{99}) {
				want["list"] = 2 // the total and no row
			}
			got := map[string]int64{}
			ctx, sent := telemetry.CountStatements(t.Context())
			s, err := store.Snapshot(ctx, q, func([]int64) error { return nil })
			if err != nil || s.At.IsZero() {
				t.Fatal(s, err)
			}
			got["snapshot"] = sent.Count()
			ctx, sent = telemetry.CountStatements(t.Context())
			list, err := store.List(ctx, q, reservation.Window{Limit: 25}, fields, true)
			if err != nil || list.Total != s.Total {
				t.Fatalf("%s: a total of %d, the snapshot has %d: %v", name, list.Total, s.Total, err)
			}
			got["list"] = sent.Count()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// What is remembered of a long list is remembered of that scope alone.
func TestScopesShareNothingRemembered(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		houses := seedHouses(t, db, 700)
		at := time.Now()
		store := newReservations(db, listSize{20, 5, 50}, func() time.Time { return at }) // nothing grows old
		sorted := snapshotIDs(t, db, reservation.Query{Sort: reservation.Sort{Field: "check_in"}})
		for range 2 { // the second time all is remembered
			for name, properties := range scopes {
				want := seenIn(sorted, houses, properties)
				q := reservation.Query{Sort: reservation.Sort{Field: "check_in"}, Scope: access.Scope{Properties: properties}}
				for _, withTotal := range []bool{false, true} {
					middle := len(want) / 2
					list, err := store.List(t.Context(), q, reservation.Window{Offset: int64(middle), Limit: 3}, fieldsOf(t, "id"), withTotal)
					if err != nil || withTotal && list.Total != int64(len(want)) {
						t.Fatalf("%s: a total of %d, want %d: %v", name, list.Total, len(want), err)
					}
					if diff := cmp.Diff(slices.Clone(want[middle:min(len(want), middle+3)]), rowKeys(list.Rows), cmpEmpty); diff != "" {
						t.Errorf("%s: %s", name, diff)
					}
				}
			}
		}
		one := mustSelect(t, db, reservation.Query{Scope: access.Scope{Properties: []int64{5, 3, 5}}}).key(true)
		if same := mustSelect(t, db, reservation.Query{Scope: access.Scope{Properties: []int64{3, 5}}}).key(true); one != same {
			t.Error("one scope written in two ways has two keys")
		}
	})
}

// A row outside of the scope is not there, not even as a place to go on from.
func TestAListDoesNotGoOnAfterARowOutsideOfTheScope(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		houses := seedHouses(t, db, 70)
		outside := int64(8)
		for _, sort := range []string{"check_in", "code"} {
			q := reservation.Query{Sort: reservation.Sort{Field: sort}, Scope: access.Scope{Properties: []int64{houses[outside] + 1}}}
			list, err := NewReservations(db).List(t.Context(), q, reservation.Window{After: &outside, Limit: 5}, fieldsOf(t, "id"), false)
			if fault.KindOf(err) != fault.Conflict {
				t.Errorf("by %s: %v, %v", sort, rowKeys(list.Rows), err)
			}
		}
	})
}

func TestTooManyPropertiesAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		ctx, sent := telemetry.CountStatements(t.Context())
		scope := access.Scope{Properties: append(thousand(), 1)}
		store := NewReservations(db)
		_, err := store.Snapshot(ctx, reservation.Query{Scope: scope}, func([]int64) error { return nil })
		_, listErr := store.List(ctx, reservation.Query{Scope: scope}, reservation.Window{Limit: 1}, fieldsOf(t, "id"), true)
		_, batchErr := store.Batch(ctx, scope, []int64{1}, fieldsOf(t, "id"))
		for _, err := range []error{err, listErr, batchErr} {
			if fault.KindOf(err) != fault.Invalid {
				t.Error(err)
			}
		}
		if sent.Count() != 0 {
			t.Errorf("%d statements were sent", sent.Count())
		}
	})
}

// A search by name would tell whose reservations there are.
func TestASearchWithoutPersonalDataLooksAtTheCodeAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		insert(t, db, intoReservations, [][]any{plainRow(1), plainRow(2), plainRow(3)})
		insert(t, db, intoGuests, [][]any{
			{1, "00000003", "", "", "KOR", 1, 0, 0, "", 0, 0, 0}, {2, "Lee", "", "", "KOR", 1, 0, 0, "", 0, 0, 0}})
		for _, c := range []struct {
			text     string
			personal bool
			want     []int64
		}{
			{"Lee", false, nil}, {"Lee", true, []int64{2}},
			{"00000003", false, []int64{3}}, {"00000003", true, []int64{1, 3}},
			{"0000000", false, []int64{1, 2, 3}}, {"%", false, nil},
		} {
			q := reservation.Query{Filter: reservation.Filter{Search: c.text}, Scope: access.Scope{Personal: c.personal}}
			if diff := cmp.Diff(c.want, snapshotIDs(t, db, q), cmpEmpty); diff != "" {
				t.Errorf("%q, personal %t: %s", c.text, c.personal, diff)
			}
		}
	})
}

// A scope is served by the indexes that a filter by property is served by, and a
// batch still by its keys.
func TestAScopeReadsAnIndex(t *testing.T) {
	db := analyzed(t)
	one := access.Scope{Properties: []int64{1}}
	q := reservation.Query{Sort: reservation.Sort{Field: "check_in"}, Scope: one}
	indexed(t, db, "snapshot", recorded(t, db, func(db *DB) error {
		_, err := readIDs(t.Context(), db, q)
		return err
	}))
	indexed(t, db, "page", recorded(t, db, func(db *DB) error {
		_, err := NewReservations(db).List(t.Context(), q, reservation.Window{Limit: 25}, fieldsOf(t, reservation.DefaultFields()...), true)
		return err
	}))
	ids := snapshotIDs(t, db, reservation.Query{Sort: reservation.Sort{Field: "check_in"}})
	for name, properties := range scopes {
		if name == "none" {
			continue
		}
		scope := access.Scope{Properties: properties}
		indexed(t, db, "total of "+name, recorded(t, db, func(db *DB) error {
			_, err := NewReservations(db).total(t.Context(), mustSelect(t, db, reservation.Query{Scope: scope}))
			return err
		}))
		indexed(t, db, "batch of "+name, recorded(t, db, func(db *DB) error {
			_, err := NewReservations(db).Batch(t.Context(), scope, ids[:2000], fieldsOf(t, "id", "guest_name"))
			return err
		}))
	}
}
