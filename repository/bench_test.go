package repository

import (
	"testing"

	"rowmill/reservation"
)

// BenchmarkMillion reads pages, counts and snapshots of 1,000,000 reservations.
// rows/op is what the database reads for one, as it counts.
func BenchmarkMillion(b *testing.B) {
	const rows = 1_000_000
	db := many(b, rows)
	q := reservation.Query{Sort: reservation.Sort{Field: "check_in", Desc: true}}
	fields := fieldsOf(b, reservation.DefaultFields()...)
	measure := func(name string, do func(b *testing.B, store *Reservations)) {
		b.Run(name, func(b *testing.B) {
			store := NewReservations(db)
			do(b, store) // so that what is remembered is
			b.ReportAllocs()
			before, n := reads(b, db), 0
			for b.Loop() {
				do(b, store)
				n++
			}
			b.ReportMetric(float64(reads(b, db)-before)/float64(n), "rows/op")
		})
	}
	page := func(offset int64, withTotal bool) func(*testing.B, *Reservations) {
		return func(b *testing.B, store *Reservations) {
			b.Helper()
			list, err := store.List(b.Context(), q, reservation.Window{Offset: offset, Limit: 10}, fields, withTotal)
			if err != nil || len(list.Rows) != 10 {
				b.Fatalf("%d rows, %v", len(list.Rows), err)
			}
		}
	}
	fresh := func(read func(*testing.B, *Reservations)) func(*testing.B, *Reservations) { // nothing is remembered
		return func(b *testing.B, _ *Reservations) {
			b.Helper()
			read(b, NewReservations(db))
		}
	}
	measure("page=1", page(0, true))
	measure("page=1000", page(9_990, true))
	measure("page=50000", page(499_990, true))
	measure("page=100000", page(rows-10, true))
	measure("page=1/uncounted", fresh(page(0, true)))
	measure("page=100000/uncounted", fresh(page(rows-10, true)))
	measure("page=50000/not_outlined", fresh(page(499_990, false)))
	measure("snapshot", func(b *testing.B, store *Reservations) {
		b.Helper()
		s, err := store.Snapshot(b.Context(), q, func([]int64) error { return nil })
		if err != nil || s.Total != rows {
			b.Fatalf("%d ids, %v", s.Total, err)
		}
	})
}
