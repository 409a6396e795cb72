package repository

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

func loadRows(t *testing.T, db *DB, src *ingest.Source) ingest.Report {
	t.Helper()
	report, err := ingest.Run(t.Context(), NewLoader(db), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// counts gives the rows of each table that a load fills.
func counts(t *testing.T, db *DB) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, table := range loadTables {
		found[table.name] = scalar(t, db, "SELECT COUNT(*) FROM "+table.name)
	}
	return found
}

func scalar(t *testing.T, db *DB, query string) (n int64) {
	t.Helper()
	if err := db.pool.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func mustBeEmpty(t *testing.T, db *DB) {
	t.Helper()
	for name, n := range counts(t, db) {
		if n != 0 {
			t.Errorf("%d rows in %s, want none", n, name)
		}
	}
}

// cells gives a reservation as the catalog's fields tell it.
func cells(r reservation.Reservation, l ingest.Lookups) map[string]table.Value {
	text := func(p *string) table.Value {
		if p == nil {
			return table.Null()
		}
		return table.TextOf(*p)
	}
	integer := func(p *int64) table.Value {
		if p == nil {
			return table.Null()
		}
		return table.IntegerOf(*p)
	}
	day := func(s interface{ Unix() int64 }) table.Value { return table.DateOf(s.Unix() / (24 * 60 * 60)) }
	money := func(minor int64) table.Value { return table.DecimalOf(minor, 2) }
	g, p, s := r.Guest, r.Payment, r.Stay
	m := map[string]table.Value{
		"id": table.IntegerOf(r.ID), "code": table.TextOf(r.Code), "status": table.TextOf(string(r.Status)),
		"status_date": day(r.StatusDate), "booked_on": day(r.BookedOn), "check_in": day(r.CheckIn), "check_out": day(r.CheckOut),
		"nights": table.IntegerOf(r.Nights), "memo": text(r.Memo), "updated_at": table.TimeOf(r.UpdatedAt), "company": text(r.Company),
		"property_id": table.IntegerOf(r.PropertyID), "property": table.TextOf(l.Properties[r.PropertyID-1].Name),
		"product_id": table.IntegerOf(r.ProductID), "product": table.TextOf(l.Products[r.ProductID-1].Name),
		"channel_id": table.IntegerOf(r.ChannelID), "channel": table.TextOf(l.Channels[r.ChannelID-1].Name),
		"agent_id":   integer(r.AgentID),
		"guest_name": table.TextOf(g.Name), "guest_phone": table.TextOf(g.Phone), "guest_email": table.TextOf(g.Email), "country": text(g.Country),
		"adults": table.IntegerOf(g.Adults), "children": integer(g.Children), "babies": table.IntegerOf(g.Babies),
		"customer_type": table.TextOf(g.CustomerType), "repeated_guest": table.BoolOf(g.Repeated),
		"earlier_canceled": table.IntegerOf(g.EarlierCanceled), "earlier_kept": table.IntegerOf(g.EarlierKept),
		"amount": money(p.AmountMinor), "nightly_rate": money(p.RateMinor), "currency": table.TextOf(p.Currency),
		"payment_terms": table.TextOf(p.Terms), "payment_status": table.TextOf(p.Status),
		"room_type": table.TextOf(s.RoomType), "meal": table.TextOf(s.Meal), "parking": table.IntegerOf(s.Parking),
		"requests": table.IntegerOf(s.Requests), "changes": table.IntegerOf(s.Changes), "waiting_days": table.IntegerOf(s.WaitingDays),
	}
	if r.AgentID != nil {
		m["agent"], m["agent_code"] = table.TextOf(l.Agents[*r.AgentID-1].Name), table.TextOf(l.Agents[*r.AgentID-1].Code)
	}
	if p.PaidAt != nil {
		m["paid_at"] = table.TimeOf(*p.PaidAt)
	}
	if c := r.Cancellation; c != nil {
		m["canceled_on"], m["cancel_reason"] = day(c.CanceledOn), table.TextOf(c.Reason)
	}
	if c := r.CouponUse; c != nil {
		m["coupon_code"], m["coupon_discount"], m["coupon_used_on"] = table.TextOf(c.Code), money(c.DiscountMinor), day(c.UsedOn)
	}
	return m
}

func TestLoadStoresEveryFieldOfEveryRow(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		const rows = 2345 // neither engine's statements divide it
		loadRows(t, db, ingest.Synthetic(rows, 11))
		fields := reservation.StoredFields()
		ids := make([]int64, rows)
		for i := range ids {
			ids[i] = int64(i) + 1
		}
		batch, err := NewReservations(db).Batch(t.Context(), everything, ids, fields)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Rows) != rows {
			t.Fatalf("%d rows, want %d", len(batch.Rows), rows)
		}
		lookups := ingest.Synthetic(rows, 11).Lookups()
		for i, row := range batch.Rows {
			want := cells(ingest.SyntheticRow(ids[i], 11), lookups)
			for j, f := range fields {
				if row.Values[j] != want[f.Key] { // an absent part's fields are NULL, the zero Value
					t.Fatalf("row %d, %s: got %v, want %v", ids[i], f.Key, row.Values[j], want[f.Key])
				}
			}
		}
		if n := scalar(t, db, "SELECT COUNT(*) FROM agents"); n != int64(len(lookups.Agents)) {
			t.Errorf("%d agents, want %d", n, len(lookups.Agents))
		}
	})
}

func TestLoadRefusesASecondTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		report := loadRows(t, db, ingest.Synthetic(100, 1))
		before := counts(t, db)
		_, err := ingest.Run(t.Context(), NewLoader(db), ingest.Synthetic(200, 2), nil)
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(fault.Message(err), "already has reservations") {
			t.Errorf("error %v, want a fault.Conflict", err)
		}
		if diff := cmp.Diff(before, counts(t, db)); diff != "" {
			t.Error("rows (-before +after):\n" + diff)
		}
		if n := scalar(t, db, "SELECT SUM(amount_minor) FROM payments"); n != report.AmountMinor {
			t.Errorf("the amounts sum to %d now", n)
		}
	})
}

// broken gives n rows and then the error.
func broken(n int, err error) *ingest.Source {
	whole := ingest.Synthetic(n, 1)
	return ingest.NewSource(func(yield func(reservation.Reservation, error) bool) {
		for row, rowErr := range whole.Rows() {
			if !yield(row, rowErr) {
				return
			}
		}
		yield(reservation.Reservation{}, err)
	}, whole.Lookups)
}

func TestLoadIsUndoneByABadLine(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		schema := indexes(t, db)
		bad := fault.InvalidFields("The file has a bad line.", fault.Field{Name: "line 2502", Detail: "column adr"})
		_, err := ingest.Run(t.Context(), NewLoader(db), broken(2500, bad), nil)
		if !errors.Is(err, bad) {
			t.Errorf("error %v, want the source's", err)
		}
		mustBeEmpty(t, db)
		if diff := cmp.Diff(schema, indexes(t, db)); diff != "" {
			t.Error("indexes after a load that failed (-before +after):\n" + diff)
		}
		if report := loadRows(t, db, ingest.Synthetic(50, 1)); report.Rows != 50 {
			t.Errorf("%d rows, want 50", report.Rows)
		}
		if diff := cmp.Diff(schema, indexes(t, db)); diff != "" {
			t.Error("indexes after a load (-before +after):\n" + diff)
		}
	})
}

// indexes gives every index and what it is on.
func indexes(t *testing.T, db *DB) map[string]string {
	t.Helper()
	query := "SELECT name, COALESCE(sql, '') FROM sqlite_master WHERE type = 'index'"
	if !db.sqlite {
		query = "SELECT CONCAT(table_name, '.', index_name), GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name"
	}
	rows, err := db.pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[string]string{}
	for rows.Next() {
		var name, on string
		if err := rows.Scan(&name, &on); err != nil {
			t.Fatal(err)
		}
		found[name] = on
	}
	if err := rows.Err(); err != nil || len(found) < 30 {
		t.Fatalf("%d indexes, error %v", len(found), err)
	}
	return found
}

func TestLoadIsUndoneWhenItsContextEnds(t *testing.T) {
	const rows = 3000
	for _, when := range []int64{0, 1000, rows} { // before, while rows come, and while indexes are built
		t.Run(fmt.Sprint(when), func(t *testing.T) {
			eachEngine(t, func(t *testing.T, db *DB) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if when == 0 {
					cancel()
				}
				_, err := ingest.Run(ctx, NewLoader(db), ingest.Synthetic(rows, 1), func(done int64) {
					if done == when {
						cancel()
					}
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want context.Canceled", err)
				}
				mustBeEmpty(t, db)
				loadRows(t, db, ingest.Synthetic(10, 1))
			})
		})
	}
}

func TestLoadTellsItsProgress(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		var told []int64
		if _, err := ingest.Run(t.Context(), NewLoader(db), ingest.Synthetic(2500, 1), func(done int64) { told = append(told, done) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{1000, 2000, 2500}, told); diff != "" {
			t.Error("(-want +got):\n" + diff)
		}
	})
}

func TestLoadsTakeTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			wg.Go(func() { _, errs[i] = ingest.Run(t.Context(), NewLoader(db), ingest.Synthetic(300, 1), nil) })
		}
		wg.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
			} else if fault.KindOf(err) != fault.Conflict {
				t.Errorf("error %v, want a fault.Conflict", err)
			}
		}
		if n := counts(t, db)["reservations"]; done != 1 || n != 300 {
			t.Errorf("%d loads of 3 were done, %d rows are there", done, n)
		}
	})
}

// A connection goes back to the pool as it was, whatever came of the load.
func TestLoadPutsItsSessionBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		db.pool.SetMaxOpenConns(1)
		var state map[string]int64
		if db.sqlite {
			state = map[string]int64{"PRAGMA cache_size": scalar(t, db, "PRAGMA cache_size")}
		} else {
			state = map[string]int64{"SELECT @@unique_checks": 1, "SELECT @@foreign_key_checks": 1, "SELECT IS_FREE_LOCK(" + lockName + ")": 1}
		}
		for _, src := range []*ingest.Source{broken(10, errors.New("bad")), ingest.Synthetic(10, 1), ingest.Synthetic(10, 1)} {
			_, _ = ingest.Run(t.Context(), NewLoader(db), src, nil) // one fails, one succeeds, one is refused
			for query, want := range state {
				if got := scalar(t, db, query); got != want {
					t.Errorf("%s: %d, want %d", query, got, want)
				}
			}
		}
	})
}

// Together these memos are larger than a statement may be.
func TestLoadSplitsLongTexts(t *testing.T) {
	const rows = 60
	memo := strings.Repeat("가", 150_000)
	eachEngine(t, func(t *testing.T, db *DB) {
		var long iter.Seq2[reservation.Reservation, error] = func(yield func(reservation.Reservation, error) bool) {
			for n := int64(1); n <= rows; n++ {
				row := ingest.SyntheticRow(n, 1)
				row.Memo = &memo
				if !yield(row, nil) {
					return
				}
			}
		}
		loadRows(t, db, ingest.NewSource(long, ingest.Synthetic(rows, 1).Lookups))
		if n := scalar(t, db, "SELECT SUM(LENGTH(memo)) FROM reservations"); n != rows*int64(len(memo)) && n != rows*150_000 { // SQLite counts characters
			t.Errorf("the memos have %d bytes or characters", n)
		}
	})
}
