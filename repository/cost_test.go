package repository

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rowmill/ingest"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
	"rowmill/reservation"
)

// manyRows are enough that reading all stands out from reading a page.
const manyRows = 100_000

// many gives a MariaDB with manyRows reservations on one connection, whose
// status counts what a statement reads.
func many(t testing.TB, rows int) *DB {
	t.Helper()
	db := openTest(t, Config{DSN: testdb.MySQL(t), MaxOpenConns: 1})
	if _, err := ingest.Run(t.Context(), NewLoader(db), ingest.Synthetic(rows, 1), nil); err != nil {
		t.Fatal(err)
	}
	return db
}

// reads gives the rows that the connection has read by now, from whatever index
// or table, as the server counts them: Handler_read_%, without what is read of
// the temporary tables and buffers of a statement's own.
func reads(t testing.TB, db *DB) (n int64) {
	t.Helper()
	rows, err := db.pool.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "Handler_read_rnd") {
			n += value
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// spent is what a call makes the database do.
type spent struct{ statements, reads int64 }

func costOf(t testing.TB, db *DB, call func(context.Context) error) spent {
	t.Helper()
	before := reads(t, db)
	ctx, sent := telemetry.CountStatements(t.Context())
	if err := call(ctx); err != nil {
		t.Fatal(err)
	}
	return spent{sent.Count(), reads(t, db) - before}
}

func listCost(t testing.TB, db *DB, store *Reservations, q reservation.Query, offset int64, withTotal bool) spent {
	t.Helper()
	return costOf(t, db, func(ctx context.Context) error {
		list, err := store.List(ctx, q, reservation.Window{Offset: offset, Limit: 10}, fieldsOf(t, "id", "code", "memo"), withTotal)
		if err == nil && len(list.Rows) != 10 {
			err = fmt.Errorf("%d rows", len(list.Rows))
		}
		return err
	})
}

func TestADeepPageCostsWhatTheFirstOneCosts(t *testing.T) {
	db := many(t, manyRows)
	for i, f := range reservation.StoredFields() {
		if f.Sort {
			deepPages(t, db, reservation.Query{Sort: reservation.Sort{Field: f.Key, Desc: i%2 == 0}})
		}
	}
	t.Run("count", func(t *testing.T) { countsReadNoMoreThanMatches(t, db) })
	t.Run("snapshot", func(t *testing.T) { snapshotsAreNotHeld(t, db) })
}

func deepPages(t *testing.T, db *DB, q reservation.Query) {
	const last, middle = manyRows - 10, manyRows/2 - 10 // this middle lies just before an anchor: the most to skip
	store := NewReservations(db)
	want := func(name string, got spent, statements, reads int64) {
		t.Helper()
		if got.statements != statements || got.reads > reads {
			t.Errorf("%v: %s costs %+v, want %d statements and %d reads", q.Sort, name, got, statements, reads)
		}
	}
	cold := listCost(t, db, store, q, 0, true)
	want("the first page and the count", cold, 2, manyRows+50)
	first := listCost(t, db, store, q, 0, true)
	want("the first page", first, 1, 25)
	want("the last page", listCost(t, db, store, q, last, true), 1, first.reads+2)
	want("the last page and the count", listCost(t, db, NewReservations(db), q, last, true), 2, cold.reads+2)
	want("the middle and the outline", listCost(t, db, store, q, middle, true), 2, cold.reads+anchorStride)
	for _, offset := range []int64{middle, middle + 10, 12_340, manyRows - 15_000} {
		want(fmt.Sprintf("the page from %d on", offset), listCost(t, db, store, q, offset, true), 1, first.reads+anchorStride)
	}
}

// countsReadNoMoreThanMatches: a count reads the entries of an index that match
// and, for a condition on a part, looks up as many reservations.
func countsReadNoMoreThanMatches(t *testing.T, db *DB) {
	for _, test := range []struct {
		filter map[string][]string
		tables int64
	}{
		{nil, 1},
		{map[string][]string{"status": {"Canceled"}}, 1},
		{map[string][]string{"status": {"Canceled", "No-Show"}}, 1},
		{map[string][]string{"property_id": {"2"}}, 1},
		{map[string][]string{"channel_id": {"3"}}, 1},
		{map[string][]string{"agent_id": {"7"}}, 1},
		{map[string][]string{"company_null": {"false"}}, 1},
		{map[string][]string{"check_in_gte": {"2023-05-01"}, "check_in_lte": {"2023-06-30"}}, 1},
		{map[string][]string{"country": {"KOR"}}, 2},
		{map[string][]string{"payment_terms": {"Non Refund"}}, 2},
		{map[string][]string{"meal": {"HB"}}, 2},
		{map[string][]string{"canceled_on_gte": {"2025-01-01"}}, 2},
		{map[string][]string{"guest_name_like": {"김"}}, 2},
	} {
		filter, err := reservation.ParseFilter(test.filter)
		if err != nil {
			t.Fatal(err)
		}
		s := mustSelect(t, db, reservation.Query{Filter: filter})
		store, n := NewReservations(db), int64(0)
		c := costOf(t, db, func(ctx context.Context) (err error) {
			n, err = store.total(ctx, s)
			return err
		})
		if n == 0 || c.statements != 1 || c.reads > test.tables*n+10 {
			t.Errorf("%v: %d rows, counted by %+v", test.filter, n, c)
		}
		again := costOf(t, db, func(ctx context.Context) (err error) {
			_, err = store.total(ctx, s)
			return err
		})
		if n > reservation.LongList && again != (spent{}) {
			t.Errorf("%v: a second count of %d rows costs %+v", test.filter, n, again)
		}
		counting := recorded(t, db, func(db *DB) error {
			_, err := NewReservations(db).total(t.Context(), s)
			return err
		})
		for _, row := range explain(t, db, counting[0]) {
			if !strings.Contains(row.extra, "Using index") {
				t.Errorf("%v is counted as %+v", test.filter, row)
			}
		}
	}
}

// snapshotsAreNotHeld: what a snapshot holds does not grow with its ids.
func snapshotsAreNotHeld(t *testing.T, db *DB) {
	var heap runtime.MemStats
	var held []int64
	ids := 0
	_, err := NewReservations(db).Snapshot(t.Context(), reservation.Query{Sort: reservation.Sort{Field: "check_in"}}, func(run []int64) error {
		if ids += len(run); ids%(manyRows/10) == 0 {
			runtime.GC()
			runtime.ReadMemStats(&heap)
			held = append(held, int64(heap.HeapAlloc))
		}
		return nil
	})
	if err != nil || ids != manyRows {
		t.Fatalf("%d ids, %v", ids, err)
	}
	if grown := slices.Max(held) - held[0]; grown > 300_000 { // the ids alone would be 1.4 MB
		t.Errorf("%d bytes more were held when more ids had come: %v", grown, held)
	}
}
