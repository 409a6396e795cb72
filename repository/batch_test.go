package repository

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

var compareValues = cmp.Comparer(func(a, b table.Value) bool { return a == b })

func TestBatchKeepsTheAskedOrderAndNamesTheAbsent(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 50)
		got, err := NewReservations(db).Batch(t.Context(), everything, []int64{9, 1000, 3, 17, -1, 8}, fieldsOf(t, "guest_name", "id", "agent_code", "agent", "property"))
		if err != nil {
			t.Fatal(err)
		}
		text, id, null := table.TextOf, table.IntegerOf, table.Null()
		want := reservation.Batch{
			Rows: []table.Row{
				{Key: 9, Values: []table.Value{text("kim Guest% 9"), id(9), null, null, text("City Hotel")}},
				{Key: 3, Values: []table.Value{text("O'Neil_ Guest% 3"), id(3), null, null, text("City Hotel")}},
				{Key: 17, Values: []table.Value{null, id(17), text("018"), text("Agent 18"), text("City Hotel")}},
				{Key: 8, Values: []table.Value{text("Kim Guest% 8"), id(8), text("009"), text("Agent 9"), text("Resort Hotel")}},
			},
			Absent: []int64{1000, -1},
		}
		if diff := cmp.Diff(want, got, compareValues); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Every field of a full row, in the type that the catalog says.
func TestBatchReadsEveryFieldExactly(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		insert(t, db, "properties (id, name)", [][]any{{1, "H"}})
		insert(t, db, "products (id, property_id, name)", [][]any{{2, 1, "P"}})
		insert(t, db, "channels (id, name)", [][]any{{3, "C"}})
		insert(t, db, "agents (id, property_id, code, name)", [][]any{{4, 1, "009", "A"}})
		insert(t, db, intoReservations, [][]any{{9007199254740993, "00000123", 1, 2, 3, 4, "045", "No-Show",
			"1899-12-31", "1969-12-31", "2016-02-29", "2016-03-01", 1, "", "2017-01-02 03:04:05.678901"}})
		insert(t, db, intoGuests, [][]any{{9007199254740993, "김 ", "010-1234", "a@b", nil, 2, nil, 1, "Group", 1, 3, 4}})
		insert(t, db, intoPayments, [][]any{{9007199254740993, 9007199254740993, -5, "EUR", "No Deposit", "open", nil}})
		insert(t, db, intoCancels, [][]any{{9007199254740993, "2016-01-01", "r"}})
		insert(t, db, intoStays, [][]any{{9007199254740993, "A", "", 1, 2, 3, 4}})
		insert(t, db, intoCoupons, [][]any{{9007199254740993, "00001", 10, "2016-01-02"}})
		want := map[string]string{
			"id": "9007199254740993", "code": "00000123", "status": "No-Show", "status_date": "1899-12-31", "booked_on": "1969-12-31",
			"check_in": "2016-02-29", "check_out": "2016-03-01", "nights": "1", "property_id": "1", "property": "H", "product_id": "2", "product": "P",
			"channel_id": "3", "channel": "C", "agent_id": "4", "agent": "A", "agent_code": "009", "company": "045",
			"guest_name": "김 ", "guest_phone": "010-1234", "guest_email": "a@b", "country": "NULL", "adults": "2", "children": "NULL", "babies": "1",
			"customer_type": "Group", "repeated_guest": "true", "earlier_canceled": "3", "earlier_kept": "4",
			"amount": "90071992547409.93", "nightly_rate": "-0.05", "currency": "EUR", "payment_terms": "No Deposit", "payment_status": "open", "paid_at": "NULL",
			"canceled_on": "2016-01-01", "cancel_reason": "r", "room_type": "A", "meal": "", "parking": "1", "requests": "2", "changes": "3", "waiting_days": "4",
			"coupon_code": "00001", "coupon_discount": "0.10", "coupon_used_on": "2016-01-02", "memo": "", "updated_at": "2017-01-02T03:04:05.678901Z",
		}
		fields := reservation.StoredFields()
		batch, err := NewReservations(db).Batch(t.Context(), everything, []int64{9007199254740993}, fields)
		if err != nil || len(batch.Rows) != 1 {
			t.Fatalf("%v, %v", batch, err)
		}
		got := map[string]string{}
		kinds := map[table.Type]table.Kind{table.Text: table.KindText, table.Code: table.KindText, table.Integer: table.KindInteger,
			table.Decimal: table.KindDecimal, table.Date: table.KindDate, table.Time: table.KindTime, table.Bool: table.KindBool}
		for i, f := range fields {
			v := batch.Rows[0].Values[i]
			got[f.Key] = v.String()
			if !v.IsNull() && v.Kind() != kinds[f.Type] {
				t.Errorf("%s is of kind %d", f.Key, v.Kind())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestBatchRefusesTooManyAndRepeatedIDs(t *testing.T) {
	many := make([]int64, 65536)
	for i := range many {
		many[i] = int64(i)
	}
	eachEngine(t, func(t *testing.T, db *DB) {
		for name, ids := range map[string][]int64{"65,536": many, "one too many": many[:reservation.MaxBatch+1], "repeated": {1, 2, 1}} {
			ctx, sent := telemetry.CountStatements(t.Context())
			_, err := NewReservations(db).Batch(ctx, everything, ids, fieldsOf(t, "id"))
			if fault.KindOf(err) != fault.Invalid || sent.Count() != 0 {
				t.Errorf("%s ids: %v after %d statements, want an invalid batch", name, err, sent.Count())
			}
		}
		if _, err := NewReservations(db).Batch(t.Context(), everything, many[:1], []reservation.Field{{Key: "id", Column: "id FROM guests --"}}); err != nil {
			t.Errorf("a field is its key: %v", err)
		}
		if _, err := NewReservations(db).Batch(t.Context(), everything, many[:1], []reservation.Field{{Key: "x"}}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an unknown field: %v", err)
		}
	})
}

// cost is what a page of the fields may cost: one statement, and one for each part.
func cost(fields []reservation.Field) int64 {
	parts := map[reservation.Part]bool{reservation.Main: true}
	for _, f := range fields {
		parts[f.Part] = true
	}
	return int64(len(parts))
}

func TestStatementsDoNotGrowWithRows(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 5200)
		store := NewReservations(db)
		all := snapshotIDs(t, db, reservation.Query{})
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		// The only row of a page of one must have an agent, or the look-up is spared.
		first := slices.Index(all, 1)
		all[0], all[first] = all[first], all[0]
		asked := [][]reservation.Field{reservation.StoredFields(), fieldsOf(t, reservation.DefaultFields()...)}
		for _, f := range reservation.StoredFields() {
			asked = append(asked, []reservation.Field{f})
		}
		for i, fields := range asked {
			for _, size := range []int{1, 100, 1000, 5000} {
				if i > 1 && size > 100 {
					break // a single field costs what it costs
				}
				ctx, sent := telemetry.CountStatements(t.Context())
				b, err := store.Batch(ctx, everything, all[:size], fields)
				if err != nil || len(b.Rows) != size {
					t.Fatalf("%d rows of %d: %v", len(b.Rows), size, err)
				}
				if sent.Count() != cost(fields) {
					t.Errorf("a batch of %d with %d fields (%s) cost %d statements, want %d", size, len(fields), fields[0].Key, sent.Count(), cost(fields))
				}
				ctx, sent = telemetry.CountStatements(t.Context())
				list, err := store.List(ctx, reservation.Query{}, reservation.Window{Limit: size}, fields, true)
				if err != nil || len(list.Rows) != size || list.Total != 5200 {
					t.Fatalf("%d rows of %d: %v", len(list.Rows), size, err)
				}
				if sent.Count() != cost(fields)+1 {
					t.Errorf("a list of %d with %d fields (%s) cost %d statements, want %d", size, len(fields), fields[0].Key, sent.Count(), cost(fields)+1)
				}
			}
		}
	})
}

func TestNothingAskedCostsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		insert(t, db, intoReservations, [][]any{plainRow(1)})
		tests := []struct {
			name   string
			ids    []int64
			fields []string
			want   int64
		}{
			{"no ids", nil, []string{"id", "guest_name"}, 0},
			{"only absent ids", []int64{5}, []string{"guest_name", "property"}, 1},
			{"no agent in the page", []int64{1}, []string{"agent"}, 1},
			{"a part that is missing", []int64{1}, []string{"guest_name"}, 2},
		}
		for _, test := range tests {
			ctx, sent := telemetry.CountStatements(t.Context())
			if _, err := NewReservations(db).Batch(ctx, everything, test.ids, fieldsOf(t, test.fields...)); err != nil {
				t.Fatal(err)
			}
			if sent.Count() != test.want {
				t.Errorf("%s: %d statements, want %d", test.name, sent.Count(), test.want)
			}
		}
	})
}

func TestAnEndedContextEndsEveryCall(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 3000)
		store := NewReservations(db)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := store.Batch(ended, everything, []int64{1}, fieldsOf(t, "id")); !errors.Is(err, context.Canceled) {
			t.Errorf("batch: %v", err)
		}
		if _, err := store.List(ended, reservation.Query{}, reservation.Window{Limit: 1}, fieldsOf(t, "id"), true); !errors.Is(err, context.Canceled) {
			t.Errorf("list: %v", err)
		}
		running, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs := 0
		_, err := store.Snapshot(running, reservation.Query{}, func([]int64) error {
			runs++
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) || runs != 1 {
			t.Errorf("a snapshot canceled in its first run gave %d runs and %v", runs, err)
		}
		stop := errors.New("enough")
		_, err = store.Snapshot(t.Context(), reservation.Query{}, func([]int64) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("an error of the caller's became %v", err)
		}
		if _, err := store.Batch(t.Context(), everything, []int64{1}, fieldsOf(t, "id")); err != nil {
			t.Errorf("the pool does not recover: %v", err)
		}
	})
}
