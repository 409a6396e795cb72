package repository

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rowmill/access"
	"rowmill/internal/testdb"
	"rowmill/reservation"
)

// everything is the scope of the tests that are not about scopes.
var everything = access.Scope{Personal: true}

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }

// eachEngine runs a test on an SQLite file and on a MariaDB, both migrated and empty.
func eachEngine(t *testing.T, test func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		test(t, openTest(t, Config{Path: filepath.Join(t.TempDir(), "a file?#%.db")}))
	})
	t.Run("mysql", func(t *testing.T) { test(t, openTest(t, Config{DSN: testdb.MySQL(t)})) })
}

func openTest(t testing.TB, c Config) *DB {
	t.Helper()
	db, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func exec(t testing.TB, db *DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.pool.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// insert inserts rows of a table, some hundred a statement.
func insert(t testing.TB, db *DB, into string, rows [][]any) {
	t.Helper()
	for len(rows) > 0 {
		n := min(len(rows), 200)
		var args []any
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		one := "(" + strings.Repeat("?, ", len(rows[0])-1) + "?)"
		exec(t, db, "INSERT INTO "+into+" VALUES "+strings.Repeat(one+", ", n-1)+one, args...)
		rows = rows[n:]
	}
}

const (
	intoReservations = "reservations (id, code, property_id, product_id, channel_id, agent_id, company, status, status_date, booked_on, check_in, check_out, nights, memo, updated_at)"
	intoGuests       = "guests (reservation_id, name, phone, email, country, adults, children, babies, customer_type, repeated, earlier_canceled, earlier_kept)"
	intoPayments     = "payments (reservation_id, amount_minor, rate_minor, currency, terms, status, paid_at)"
	intoCancels      = "cancellations (reservation_id, canceled_on, reason)"
	intoStays        = "stays (reservation_id, room_type, meal, parking, requests, changes, waiting_days)"
	intoCoupons      = "coupon_uses (reservation_id, code, discount_minor, used_on)"
)

var firstDay = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)

func day(n int) string { return firstDay.AddDate(0, 0, n).Format(dayLayout) }

// plainRow is a reservation's row that nothing is special about.
func plainRow(id int) []any {
	return []any{id, fmt.Sprintf("%08d", id), 1, 1, 1, nil, nil, "Check-Out", day(0), day(0), day(0), day(1), 1, nil, "2017-01-02 03:04:05.678901"}
}

// seed fills every table: n reservations that differ in every field, of which
// some have no agent, company, guest, payment, cancellation, stay or coupon.
func seed(t testing.TB, db *DB, n int) {
	t.Helper()
	insert(t, db, "properties (id, name)", [][]any{{1, "Resort Hotel"}, {2, "City Hotel"}})
	var products, channels, agents [][]any
	for i := 1; i <= 8; i++ {
		products = append(products, []any{i, 1 + i%2, fmt.Sprintf("Room %c", 'A'+i)})
	}
	for i := 1; i <= 5; i++ {
		channels = append(channels, []any{i, fmt.Sprintf("Channel %d", i)})
	}
	for i := 1; i <= 40; i++ {
		agents = append(agents, []any{i, 1 + i%2, fmt.Sprintf("%03d", i), fmt.Sprintf("Agent %d", i%30)})
	}
	insert(t, db, "products (id, property_id, name)", products)
	insert(t, db, "channels (id, name)", channels)
	insert(t, db, "agents (id, property_id, code, name)", agents)
	main, parts := seedRows(n)
	insert(t, db, intoReservations, main)
	for into, rows := range parts {
		insert(t, db, into, rows)
	}
}

func seedRows(n int) (main [][]any, parts map[string][][]any) {
	parts = map[string][][]any{}
	for i := 1; i <= n; i++ {
		status := [...]string{"Check-Out", "Check-Out", "Canceled", "Check-Out", "No-Show"}[i%5]
		var agent, company, memo, children, country, paid any
		if i%3 != 0 {
			agent = 1 + i%40
		}
		if i%10 == 0 {
			company = fmt.Sprintf("C%02d", i%7)
		}
		if i%4 == 0 {
			memo = [...]string{"", " x ", "line\r\nbreak", "예약 😀 <&>"}[i/4%4]
		}
		if i%5 != 0 {
			children, country = i%3, [...]string{"PRT", "GBR", "KOR"}[i%3]
		}
		if i%7 != 0 {
			paid = moment{firstDay.Add(time.Duration(i)*time.Hour + time.Duration(i)*time.Microsecond)}
		}
		main = append(main, []any{i, fmt.Sprintf("%08d", i*7), 1 + i%2, 1 + i%8, 1 + i%5, agent, company, status,
			day(i % 600), day(i % 500), day(100 + i%650), day(101 + i%650), i % 14, memo,
			moment{firstDay.Add(time.Duration(i%900) * time.Minute)}})
		add := func(into string, row ...any) { parts[into] = append(parts[into], append([]any{i}, row...)) }
		if i%17 != 0 {
			add(intoGuests, fmt.Sprintf("%s Guest%% %d", [...]string{"Kim", "kim", "김", "O'Neil_"}[i%4], i%90), fmt.Sprintf("010-%04d", i%1000),
				fmt.Sprintf("g%d@example.com", i%300), country, 1+i%4, children, i%2, [...]string{"Transient", "Group"}[i%2], i%2, i%5, i%6)
		}
		if i%19 != 0 {
			add(intoPayments, (i%2000)*101-5000, i%300*10, "EUR", "No Deposit", [...]string{"paid", "open"}[i%2], paid)
		}
		if status == "Canceled" {
			add(intoCancels, day(i%500), fmt.Sprintf("reason %d", i%4))
		}
		if i%4 != 0 {
			add(intoStays, fmt.Sprintf("%c", 'A'+i%10), [...]string{"BB", "HB", ""}[i%3], i%2, i%4, i%5, i%30)
		}
		if i%6 == 0 {
			add(intoCoupons, fmt.Sprintf("%05d", i%50), i%40*25, day(i%500))
		}
	}
	return main, parts
}

func fieldsOf(t testing.TB, keys ...string) []reservation.Field {
	t.Helper()
	fields, err := reservation.FieldsOf(keys)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// snapshotIDs gives the ids of a snapshot.
func snapshotIDs(t testing.TB, db *DB, q reservation.Query) []int64 {
	t.Helper()
	ids, err := readIDs(t.Context(), db, q)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func readIDs(ctx context.Context, db *DB, q reservation.Query) (ids []int64, err error) {
	s, err := NewReservations(db).Snapshot(ctx, q, func(run []int64) error {
		ids = append(ids, run...)
		return nil
	})
	if err == nil && s.Total != int64(len(ids)) {
		err = fmt.Errorf("the snapshot counts %d ids and gave %d", s.Total, len(ids))
	}
	return ids, err
}
