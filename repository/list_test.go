package repository

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// pages reads a whole list page by page: by offset, or each after the last row.
func pages(t *testing.T, db *DB, q reservation.Query, limit int, byCursor bool) (ids []int64) {
	t.Helper()
	w := reservation.Window{Limit: limit}
	for {
		ctx, sent := telemetry.CountStatements(t.Context())
		list, err := NewReservations(db).List(ctx, q, w, fieldsOf(t, "code"), false)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Rows) > 0 && sent.Count() != 1 {
			t.Errorf("a page cost %d statements, want 1", sent.Count())
		}
		for _, row := range list.Rows {
			ids = append(ids, row.Key)
		}
		if len(list.Rows) < limit {
			return ids
		}
		if w.Offset += int64(limit); byCursor {
			w.Offset, w.After = 0, &ids[len(ids)-1]
		}
	}
}

func TestRowsWithTheSameSortKeyComeOnceAndInOneOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		var rows [][]any
		for i := 500; i > 0; i-- {
			rows = append(rows, plainRow(i))
		}
		insert(t, db, intoReservations, rows)
		for _, f := range reservation.StoredFields() {
			if !f.Sort {
				continue
			}
			for _, desc := range []bool{false, true} {
				want := make([]int64, 500)
				for i := range want {
					want[i] = int64(i + 1)
				}
				if desc {
					slices.Reverse(want)
				}
				q := reservation.Query{Sort: reservation.Sort{Field: f.Key, Desc: desc}}
				if diff := cmp.Diff(want, snapshotIDs(t, db, q)); diff != "" {
					t.Errorf("snapshot by %s, desc %v (-want +got):\n%s", f.Key, desc, diff)
				}
				for _, byCursor := range []bool{false, true} {
					if diff := cmp.Diff(want, pages(t, db, q, 7, byCursor)); diff != "" {
						t.Errorf("list by %s, desc %v, cursor %v (-want +got):\n%s", f.Key, desc, byCursor, diff)
					}
				}
			}
		}
	})
}

// The list, by offset or cursor, and the snapshot give one order on both engines.
func TestListAndSnapshotAgreeUnderEveryOrder(t *testing.T) {
	orders := map[string][]int64{}
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 700)
		filter, err := reservation.ParseFilter(map[string][]string{"check_in_gte": {"2016-06-01"}, "guest_name_null": {"false"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range reservation.StoredFields() {
			if !f.Sort {
				continue
			}
			for _, desc := range []bool{false, true} {
				q := reservation.Query{Filter: filter, Sort: reservation.Sort{Field: f.Key, Desc: desc}}
				ids := snapshotIDs(t, db, q)
				if len(ids) < 400 || len(ids) == 700 {
					t.Fatalf("%d ids match", len(ids))
				}
				for _, byCursor := range []bool{false, true} {
					if diff := cmp.Diff(ids, pages(t, db, q, 90, byCursor)); diff != "" {
						t.Errorf("list by %s, desc %v, cursor %v (-snapshot +list):\n%s", f.Key, desc, byCursor, diff)
					}
				}
				name := f.Key + map[bool]string{true: " desc"}[desc]
				if other, ok := orders[name]; ok && !slices.Equal(other, ids) {
					t.Errorf("by %s the engines differ:\n%s", name, cmp.Diff(other, ids))
				}
				orders[name] = ids
			}
		}
	})
}

func TestListCountsAllThatMatch(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 100)
		filter, err := reservation.ParseFilter(map[string][]string{"status": {"Canceled"}})
		if err != nil {
			t.Fatal(err)
		}
		q := reservation.Query{Filter: filter, Sort: reservation.Sort{Field: "id", Desc: true}}
		got, err := NewReservations(db).List(t.Context(), q, reservation.Window{Offset: 18, Limit: 5}, fieldsOf(t, "cancel_reason", "nights"), true)
		if err != nil {
			t.Fatal(err)
		}
		want := reservation.List{Total: 20, Rows: []table.Row{
			{Key: 7, Values: []table.Value{table.TextOf("reason 3"), table.IntegerOf(7)}},
			{Key: 2, Values: []table.Value{table.TextOf("reason 2"), table.IntegerOf(2)}},
		}}
		if diff := cmp.Diff(want, got, compareValues); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		got, err = NewReservations(db).List(t.Context(), q, reservation.Window{Offset: 20, Limit: 5}, fieldsOf(t, "id"), false)
		if err != nil || len(got.Rows) != 0 || got.Total != -1 {
			t.Errorf("past the end: %v, %v", got, err)
		}
	})
}

func TestListAfterARowThatIsGoneSaysSo(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 20)
		store := NewReservations(db)
		list := func(field string, after int64) (reservation.List, error) {
			return store.List(t.Context(), reservation.Query{Sort: reservation.Sort{Field: field}}, reservation.Window{After: &after, Limit: 5}, fieldsOf(t, "id"), false)
		}
		exec(t, db, "DELETE FROM reservations WHERE id = 10")
		if _, err := list("check_in", 10); fault.KindOf(err) != fault.Conflict {
			t.Errorf("after a row that is gone: %v, want a conflict", err)
		}
		if got, err := list("id", 10); err != nil || len(got.Rows) != 5 || got.Rows[0].Key != 11 {
			t.Errorf("by id the place is known without the row: %v, %v", got, err)
		}
		if got, err := list("check_in", 20); err != nil || len(got.Rows) != 0 {
			t.Errorf("after the last row: %v, %v", got, err)
		}
	})
}

func TestListRefusesWindowsThatAreNone(t *testing.T) {
	one := int64(1)
	eachEngine(t, func(t *testing.T, db *DB) {
		for _, w := range []reservation.Window{{}, {Limit: -1}, {Limit: reservation.MaxListLimit + 1}, {Limit: 1, Offset: -1}, {Limit: 1, Offset: 1, After: &one}} {
			if _, err := NewReservations(db).List(t.Context(), reservation.Query{}, w, fieldsOf(t, "id"), false); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%+v: %v", w, err)
			}
		}
	})
}

// Rows that go between the page's statements leave NULLs, not an error.
func TestPartsThatGoMeanwhileAreMissing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 10)
		p, err := planOf(fieldsOf(t, "id", "guest_name", "property"))
		if err != nil {
			t.Fatal(err)
		}
		g := newPage(p, 3)
		g.add(1)
		if err := g.readMain(t.Context(), db, db.byKeys(p.main, g.refs, []int64{1, 2, 3})); err != nil {
			t.Fatal(err)
		}
		for _, gone := range []string{"reservations", "guests", "properties"} {
			exec(t, db, "DELETE FROM "+gone)
		}
		if err := g.readParts(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if v := g.rows[0].Values; v[0] != table.IntegerOf(1) || !v[1].IsNull() || !v[2].IsNull() {
			t.Errorf("got %v", v)
		}
	})
}
