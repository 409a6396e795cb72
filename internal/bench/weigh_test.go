package bench

import (
	"database/sql"
	"database/sql/driver"
	"os"
	"testing"
	"time"

	"rowmill/ingest"
	"rowmill/internal/testdb"
	"rowmill/repository"
)

func TestWeight(t *testing.T) {
	tests := []struct {
		value driver.Value
		want  int
	}{
		{nil, 0}, {[]byte("방"), 3}, {"room", 4}, {int64(-120), 4}, {1.5, 3}, {true, 1},
		{homeDay, 10}, {homeMoment, 26},
	}
	for _, test := range tests {
		if got := weight(test.value); got != test.want {
			t.Errorf("%v weighs %d, want %d", test.value, got, test.want)
		}
	}
}

// The weight of rows is what a server sends for them; it adds the names of columns.
func TestRowsWeighWhatMySQLSends(t *testing.T) {
	db := openTest(t, testdb.MySQL(t))
	if err := db.repo.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	board, err := ingest.HomeBoard(ingest.Synthetic(1, seed).Lookups(), homeFirst, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := repository.NewLoader(db.repo).LoadHome(t.Context(), board); err != nil {
		t.Fatal(err)
	}
	conn, err := db.raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := func() (bytes int64) {
		var name string
		if err := conn.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Bytes_sent'").Scan(&name, &bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	for _, query := range []string{
		"SELECT i.day, i.product_unit_id, i.available, u.name FROM inventories i JOIN product_units u ON u.id = i.product_unit_id",
		"SELECT id, kind, title, position, visible_from, visible_until FROM home_sections",
	} {
		alone := sent() // what it costs to ask
		alone = sent() - alone
		before, received := sent(), db.line.received.Load()
		db.line.weigh.Store(true)
		if err := drain(conn.QueryContext(t.Context(), query)); err != nil {
			t.Fatal(err)
		}
		db.line.weigh.Store(false)
		weighed, theirs := db.line.received.Load()-received, sent()-before-alone
		if over := theirs - weighed; weighed < 1000 || over < 0 || over > 1000 {
			t.Errorf("weighed %d bytes, the server sent %d: %s", weighed, theirs, query)
		}
	}
	received := db.line.received.Load()
	if err := drain(conn.QueryContext(t.Context(), "SELECT id FROM home_sections")); err != nil || db.line.received.Load() != received {
		t.Errorf("rows were weighed unasked, or %v", err)
	}
}

func drain(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func TestCPUOf(t *testing.T) {
	tests := []struct {
		stat string
		want time.Duration
	}{
		{"4242 (mariadbd) S 1 2 3 4 5 6 7 8 9 10 150 27 0 0 20 0", 1770 * time.Millisecond},
		{"4242 (a ) name) S 1 2 3 4 5 6 7 8 9 10 1 2 0", 30 * time.Millisecond},
		{"4242 (cut) S 1 2", 0},
		{"4242 (odd) S 1 2 3 4 5 6 7 8 9 10 x 2 0", 0},
		{"", 0},
	}
	for _, test := range tests {
		if got := cpuOf(test.stat); got != test.want {
			t.Errorf("%q: %v, want %v", test.stat, got, test.want)
		}
	}
}

func TestTheServersProcessIsFoundWhereItIsHere(t *testing.T) {
	if p := openTest(t, "").findServer(t.Context()); p != nil || p.cpu() != 0 {
		t.Errorf("SQLite has the server %+v", p)
	}
	db := openTest(t, testdb.MySQL(t))
	var host string
	if err := db.raw.QueryRowContext(t.Context(), "SELECT @@hostname").Scan(&host); err != nil {
		t.Fatal(err)
	}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat("/proc/self/stat")
	if p := db.findServer(t.Context()); (p != nil) != (host == here && err == nil) {
		t.Errorf("the server of %s, seen from %s: %+v", host, here, p)
	}
}
