package repository

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/table"
	"rowmill/internal/testdb"
	"rowmill/reservation"
)

func TestNullIsNotEmptyText(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		rows := [][]any{plainRow(1), plainRow(2)}
		rows[1][13] = ""
		insert(t, db, intoReservations, rows)
		b, err := NewReservations(db).Batch(t.Context(), everything, []int64{1, 2}, fieldsOf(t, "memo"))
		if err != nil {
			t.Fatal(err)
		}
		if !b.Rows[0].Values[0].IsNull() || b.Rows[1].Values[0] != table.TextOf("") {
			t.Errorf("got %v", b.Rows)
		}
	})
}

// zeroDates inserts a reservation and a payment whose days and times are none.
func zeroDates(t *testing.T, db *DB) {
	t.Helper()
	conn, err := db.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	statements := []string{
		"INSERT INTO reservations SELECT 1, '1', 1, 1, 1, NULL, NULL, '', '2016-01-01', '2016-01-01', '0000-00-00', '2016-01-01', 1, NULL, '0000-00-00 00:00:00'",
		"INSERT INTO payments SELECT 1, 0, 0, '', '', '', '0000-00-00 00:00:00'",
	}
	if !db.sqlite {
		statements = append([]string{"SET SESSION sql_mode = ''"}, statements...)
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// MySQL keeps 0000-00-00 of older days; a dump of it may lie in SQLite.
func TestZeroDatesAreReadAsSuchAndAreNotNull(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		zeroDates(t, db)
		b, err := NewReservations(db).Batch(t.Context(), everything, []int64{1}, fieldsOf(t, "check_in", "updated_at", "paid_at", "check_out"))
		if err != nil {
			t.Fatal(err)
		}
		zero := table.ZeroDate()
		want := []table.Value{zero, zero, zero, table.DateOf(16801)}
		if diff := cmp.Diff(want, b.Rows[0].Values, compareValues); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for param, want := range map[string]int{"check_in_null": 0, "paid_at_null": 0, "check_out_null": 0} {
			filter, err := reservation.ParseFilter(map[string][]string{param: {"true"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := snapshotIDs(t, db, reservation.Query{Filter: filter}); len(got) != want {
				t.Errorf("%s matches %v", param, got)
			}
		}
	})
}

func TestBytesThatAreNotUTF8AreKept(t *testing.T) {
	db := openTest(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	row := plainRow(1)
	row[13] = "a\xed\xa0\x80\x00b"
	insert(t, db, intoReservations, [][]any{row})
	b, err := NewReservations(db).Batch(t.Context(), everything, []int64{1}, fieldsOf(t, "memo"))
	if err != nil || b.Rows[0].Values[0] != table.TextOf("a\xed\xa0\x80\x00b") {
		t.Errorf("%v, %v", b.Rows, err)
	}
}

func TestLongMemosFit(t *testing.T) {
	long := make([]rune, 40_000)
	for i := range long {
		long[i] = '가'
	}
	eachEngine(t, func(t *testing.T, db *DB) {
		row := plainRow(1)
		row[13] = string(long)
		insert(t, db, intoReservations, [][]any{row})
		b, err := NewReservations(db).Batch(t.Context(), everything, []int64{1}, fieldsOf(t, "memo"))
		if err != nil || b.Rows[0].Values[0] != table.TextOf(string(long)) {
			t.Errorf("%d rows, %v", len(b.Rows), err)
		}
	})
}

func TestCellRefusesWhatIsNoValueOfItsType(t *testing.T) {
	for _, test := range []struct {
		typ table.Type
		src any
	}{
		{table.Integer, "x"}, {table.Integer, 1.5}, {table.Decimal, []byte("1.5")}, {table.Date, "2016-13-01"},
		{table.Date, int64(5)}, {table.Time, "noon"}, {table.Bool, "yes"}, {table.Integer, firstDay}, {table.Text, struct{}{}},
	} {
		c := cell{typ: test.typ}
		if err := c.Scan(test.src); err == nil {
			t.Errorf("%v was read as %s: %v", test.src, test.typ, c.value)
		}
	}
}

func TestCellReadsEveryFormThatADriverGives(t *testing.T) {
	for _, test := range []struct {
		typ  table.Type
		src  any
		want table.Value
	}{
		{table.Text, int64(7), table.TextOf("7")}, {table.Integer, []byte("-7"), table.IntegerOf(-7)}, {table.Integer, 7.0, table.IntegerOf(7)},
		{table.Decimal, "-5", table.DecimalOf(-5, 2)}, {table.Bool, true, table.BoolOf(true)}, {table.Bool, false, table.BoolOf(false)},
		{table.Bool, []byte("1"), table.BoolOf(true)}, {table.Date, "1969-12-31", table.DateOf(-1)}, {table.Date, "1969-12-30 12:00:00.000000", table.DateOf(-2)},
		{table.Time, "1970-01-01 00:00:00.000001", table.TimeOfMicro(1)}, {table.Date, nil, table.Null()},
	} {
		c := cell{typ: test.typ, scale: 2}
		if err := c.Scan(test.src); err != nil || c.value != test.want {
			t.Errorf("%v as %s: %v, %v, want %v", test.src, test.typ, c.value, err, test.want)
		}
	}
}

func TestTheServersOwnModeIsKept(t *testing.T) {
	db := openTest(t, Config{DSN: testdb.MySQL(t)})
	var session, global, charset string
	if err := db.pool.QueryRowContext(t.Context(), "SELECT @@SESSION.sql_mode, @@GLOBAL.sql_mode, @@character_set_connection").Scan(&session, &global, &charset); err != nil {
		t.Fatal(err)
	}
	if session != global || charset != "utf8mb4" {
		t.Errorf("mode %q of %q, character set %s", session, global, charset)
	}
}
