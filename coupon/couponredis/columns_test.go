package couponredis_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/coupon"
	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/repository"
	"rowmill/reservation"
)

const rows = 600

// loaded is a world of made-up reservations and the coupons that come with them.
func loaded(t *testing.T, c repository.Config, addr string) (*world, *coupon.Columns) {
	t.Helper()
	w := newWorld(t, c, addr)
	if _, err := ingest.Run(t.Context(), repository.NewLoader(w.db), ingest.Synthetic(rows, 1), nil); err != nil {
		t.Fatal(err)
	}
	return w, coupon.NewColumns(repository.NewReservations(w.db), w.Service)
}

// priced gives the code and the price that the columns should have for row n.
func priced(n int64) (code, price table.Value) {
	set := ingest.Coupons(40)
	row := ingest.SyntheticRow(n, 1)
	e := coupon.Eligibility{Excluded: map[int64]bool{}, Left: map[int64]int64{}}
	for _, id := range set.Excluded {
		e.Excluded[id] = true
	}
	for _, r := range set.Rules {
		e.Left[r.ID] = r.Stock
	}
	o := coupon.Best(set.Rules, e, coupon.Item{Product: row.ProductID, Minor: row.Payment.AmountMinor, Currency: row.Payment.Currency}, time.Now())
	if o.Best == nil {
		return table.Null(), table.Null()
	}
	return table.TextOf(o.Best.Code), table.DecimalOf(o.Best.Minor, 2)
}

func fields(t *testing.T, keys ...string) []reservation.Field {
	t.Helper()
	f, err := reservation.FieldsOf(keys)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestColumnsKeepToTheStatementBudget(t *testing.T) {
	eachEngine(t, func(t *testing.T, c repository.Config) {
		w, columns := loaded(t, c, redisAddr(t))
		ids := make([]int64, rows)
		for i := range ids {
			ids[i] = int64(i) + 1
		}
		both := []string{reservation.BestCoupon, reservation.CouponPrice}
		batch := func(ids []int64, keys ...string) (reservation.Batch, cost) {
			t.Helper()
			w.wire.taken()
			ctx, sent := telemetry.CountStatements(t.Context())
			b, err := columns.Batch(ctx, access.Scope{}, ids, fields(t, keys...))
			if err != nil || len(b.Rows) != len(ids) {
				t.Fatalf("%d rows, %v", len(b.Rows), err)
			}
			got := cost{statements: sent.Count()}
			for _, n := range w.wire.taken() {
				got.trips += n
			}
			return b, got
		}
		batch(ids, both...) // makes the copies, and the connection
		for _, x := range []struct {
			ids  []int64
			keys []string
			want cost
		}{
			{ids[:1], both, cost{3, 1}}, {ids, both, cost{3, 1}}, // reservations, payments, rules
			{ids, append([]string{"id", "amount"}, both...), cost{3, 1}},
			{ids, []string{reservation.CouponPrice}, cost{3, 1}},
			{ids[:1], append(reservation.DefaultFields(), both...), cost{11, 1}}, {ids, append(reservation.DefaultFields(), both...), cost{11, 1}},
			{ids, reservation.DefaultFields(), cost{10, 0}}, {ids, []string{"id"}, cost{1, 0}},
		} {
			b, got := batch(x.ids, x.keys...)
			if got.statements > x.want.statements || got.statements < x.want.statements-3 || got.trips != x.want.trips {
				t.Errorf("%d rows of %v cost %+v, want %+v", len(x.ids), x.keys, got, x.want)
			}
			if len(x.ids) == rows && got.statements != x.want.statements {
				t.Errorf("%d rows of %v cost %+v, want %+v", len(x.ids), x.keys, got, x.want)
			}
			checkRows(t, b.Rows, x.keys)
		}
	})
}

func checkRows(t *testing.T, got []table.Row, keys []string) {
	t.Helper()
	codes := map[string]int{}
	for _, row := range got {
		if len(row.Values) != len(keys) {
			t.Fatalf("row %d has %d values for %v", row.Key, len(row.Values), keys)
		}
		code, price := priced(row.Key)
		for i, key := range keys {
			v := row.Values[i]
			if key == reservation.BestCoupon && v != code || key == reservation.CouponPrice && v != price || key == "id" && v.Integer() != row.Key {
				t.Fatalf("row %d: %s is %v, want %v at %v", row.Key, key, v, code, price)
			}
		}
		codes[code.Text()]++
	}
	if len(got) == rows && len(codes) < 4 {
		t.Errorf("the rows show little: %v", codes)
	}
}

func TestAListHasTheColumnsOfItsBatch(t *testing.T) {
	_, columns := loaded(t, sqlite(t), redisAddr(t))
	asked := fields(t, reservation.CouponPrice, "code", reservation.BestCoupon)
	list, err := columns.List(t.Context(), reservation.Query{}, reservation.Window{Offset: 100, Limit: 50}, asked, true)
	if err != nil || list.Total != rows || len(list.Rows) != 50 {
		t.Fatalf("%d of %d, %v", len(list.Rows), list.Total, err)
	}
	var ids []int64
	for _, row := range list.Rows {
		ids = append(ids, row.Key)
	}
	batch, err := columns.Batch(t.Context(), access.Scope{}, ids, asked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(batch.Rows, list.Rows, cmp.Comparer(func(a, b table.Value) bool { return a == b })); diff != "" {
		t.Errorf("(-batch +list):\n%s", diff)
	}
	checkRows(t, list.Rows, []string{reservation.CouponPrice, "code", reservation.BestCoupon})
}

// Only who asks for them waits for Redis.
func TestPagesWithoutTheColumnsNeedNoRedis(t *testing.T) {
	_, columns := loaded(t, sqlite(t), "127.0.0.1:1")
	all := reservation.Fields()
	stored := slices.DeleteFunc(slices.Clone(all), reservation.Field.Computed)
	if b, err := columns.Batch(t.Context(), access.Scope{}, []int64{1, 2}, stored); err != nil || len(b.Rows) != 2 {
		t.Errorf("%d rows, %v", len(b.Rows), err)
	}
	if b, err := columns.Batch(t.Context(), access.Scope{}, []int64{1, 2}, all); fault.KindOf(err) != fault.Unavailable || len(b.Rows) > 0 {
		t.Errorf("%d rows, %v", len(b.Rows), err)
	}
	if l, err := columns.List(t.Context(), reservation.Query{}, reservation.Window{Limit: 2}, all, false); fault.KindOf(err) != fault.Unavailable || len(l.Rows) > 0 {
		t.Errorf("%d rows, %v", len(l.Rows), err)
	}
}

// oneRow is a store with a row of a product, an amount and a currency.
type oneRow struct {
	reservation.Store
	values map[string]table.Value
}

func (s oneRow) Batch(_ context.Context, _ access.Scope, _ []int64, fields []reservation.Field) (reservation.Batch, error) {
	row := table.Row{Key: 1}
	for _, f := range fields {
		row.Values = append(row.Values, s.values[f.Key])
	}
	return reservation.Batch{Rows: []table.Row{row}}, nil
}

func TestWhatHasNoPriceHasNoCoupon(t *testing.T) {
	w := newWorld(t, sqlite(t), redisAddr(t))
	rule := coupon.Rule{ID: 1, Code: "HALF", Kind: coupon.Rate, Value: 5000, From: time.Unix(0, 0), Until: time.Now().AddDate(100, 0, 0)}
	if err := w.store.Put(t.Context(), coupon.Set{Rules: []coupon.Rule{rule}}); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		amount, currency table.Value
		want             string
	}{
		"euros":              {table.DecimalOf(120_01, 2), table.TextOf("EUR"), "HALF 60.00"},
		"won":                {table.DecimalOf(15001_00, 2), table.TextOf("KRW"), "HALF 7500.00"},
		"half a won":         {table.DecimalOf(15001_50, 2), table.TextOf("KRW"), "NULL NULL"},
		"nothing":            {table.DecimalOf(0, 2), table.TextOf("EUR"), "NULL NULL"},
		"money back":         {table.DecimalOf(-6_38, 2), table.TextOf("EUR"), "NULL NULL"},
		"no payment":         {table.Null(), table.Null(), "NULL NULL"},
		"no currency":        {table.DecimalOf(100, 2), table.Null(), "NULL NULL"},
		"a currency unknown": {table.DecimalOf(100, 2), table.TextOf("XXX"), "NULL NULL"},
		"more than a price":  {table.DecimalOf(coupon.MaxMinor+1, 2), table.TextOf("EUR"), "NULL NULL"},
	} {
		store := oneRow{values: map[string]table.Value{"product_id": table.IntegerOf(5), "amount": x.amount, "currency": x.currency}}
		b, err := coupon.NewColumns(store, w.Service).Batch(t.Context(), access.Scope{}, []int64{1}, fields(t, reservation.BestCoupon, reservation.CouponPrice))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.Rows[0].Values[0], " ", b.Rows[0].Values[1]); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
