package repository

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/reservation"
)

// Ids that lie close are read as one range: the rows in between that nobody asked
// for must not come along, and nothing else may change.
func TestBatchOfCloseIDsGivesTheAskedRowsAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 100)
		exec(t, db, "DELETE FROM reservations WHERE id = 50") // its guest stays
		store := NewReservations(db)
		fields := fieldsOf(t, "id", "guest_name", "agent", "amount")
		var asked []int64
		for id := int64(100); id > 0; id-- {
			if id%10 != 3 {
				asked = append(asked, id)
			}
		}
		got, err := store.Batch(t.Context(), everything, asked, fields)
		if err != nil {
			t.Fatal(err)
		}
		var want reservation.Batch
		for _, id := range asked {
			one, err := store.Batch(t.Context(), everything, []int64{id}, fields)
			if err != nil {
				t.Fatal(err)
			}
			want.Rows = append(want.Rows, one.Rows...)
			want.Absent = append(want.Absent, one.Absent...)
		}
		if diff := cmp.Diff(want, got, compareValues); diff != "" {
			t.Errorf("(-one by one +together):\n%s", diff)
		}
		if !slices.Equal(got.Absent, []int64{50}) {
			t.Errorf("absent: %v", got.Absent)
		}
	})
}

func TestBatchOfTheOutermostIDsReadsNoRange(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 3)
		ids := []int64{math.MinInt64, 2, math.MaxInt64}
		got, err := NewReservations(db).Batch(t.Context(), everything, ids, fieldsOf(t, "id"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Rows) != 1 || !slices.Equal(got.Absent, []int64{math.MinInt64, math.MaxInt64}) {
			t.Errorf("got %+v", got)
		}
	})
}
