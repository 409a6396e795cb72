package repository

import (
	"path/filepath"
	"testing"

	"rowmill/ingest"
	"rowmill/internal/testdb"
	"rowmill/reservation"
	"rowmill/sample"
)

// The totals of the whole file, as its readme and ingest's tests have them.
var sampleTotals = map[string]int64{
	"SELECT COUNT(*) FROM reservations":                                                                         119_390,
	"SELECT MIN(id) FROM reservations":                                                                          1,
	"SELECT MAX(id) FROM reservations":                                                                          119_390,
	"SELECT SUM(amount_minor) FROM payments":                                                                    42_723_497_53,
	"SELECT amount_minor FROM payments WHERE reservation_id = 14970":                                            -63_80,
	"SELECT rate_minor FROM payments WHERE reservation_id = 48516":                                              5_400_00,
	"SELECT COUNT(*) FROM reservations WHERE status = 'Check-Out'":                                              75_166,
	"SELECT COUNT(*) FROM reservations WHERE status = 'Canceled'":                                               43_017,
	"SELECT COUNT(*) FROM reservations WHERE status = 'No-Show'":                                                1_207,
	"SELECT COUNT(*) FROM cancellations":                                                                        44_224,
	"SELECT COUNT(*) FROM guests":                                                                               119_390,
	"SELECT COUNT(*) FROM guests WHERE country IS NULL":                                                         488,
	"SELECT COUNT(*) FROM guests WHERE children IS NULL":                                                        4,
	"SELECT COUNT(*) FROM reservations WHERE agent_id IS NULL":                                                  16_340,
	"SELECT COUNT(*) FROM reservations WHERE company IS NULL":                                                   112_593,
	"SELECT COUNT(*) FROM reservations WHERE nights = 0":                                                        715,
	"SELECT COUNT(*) FROM reservations WHERE check_in = '2015-12-05'":                                           448,
	"SELECT COUNT(*) FROM reservations r JOIN agents a ON a.id = r.agent_id":                                    103_050,
	"SELECT COUNT(*) FROM reservations r JOIN products p ON p.id = r.product_id":                                119_390,
	"SELECT COUNT(*) FROM reservations r JOIN channels c ON c.id = r.channel_id":                                119_390,
	"SELECT COUNT(*) FROM reservations WHERE code = '00014970' AND id = 14970":                                  1,
	"SELECT COUNT(*) FROM stays s JOIN reservations r ON r.id = s.reservation_id":                               119_390,
	"SELECT COUNT(*) FROM reservations r JOIN properties p ON p.id = r.property_id WHERE p.name = 'City Hotel'": 79_330,
}

func checkLoadOfSample(t *testing.T, db *DB) {
	t.Helper()
	loadRows(t, db, ingest.HotelBookings(sample.HotelBookings()))
	for query, want := range sampleTotals {
		if got := scalar(t, db, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

func TestLoadTheHotelBookingsIntoMySQL(t *testing.T) {
	checkLoadOfSample(t, openTest(t, Config{DSN: testdb.MySQL(t)}))
}

// The first lines are enough to see that SQLite sums as the reader does; all of them
// take minutes under the race detector and are loaded without it (load_whole_test.go).
func TestLoadHotelBookingsIntoSQLite(t *testing.T) {
	const rows = 2000
	db := openTest(t, Config{Path: filepath.Join(t.TempDir(), "bookings.db")})
	src := ingest.HotelBookings(sample.HotelBookings())
	first := func(yield func(reservation.Reservation, error) bool) {
		for row, err := range src.Rows() {
			if !yield(row, err) || row.ID == rows {
				return
			}
		}
	}
	report := loadRows(t, db, ingest.NewSource(first, src.Lookups))
	if n := scalar(t, db, "SELECT SUM(amount_minor) FROM payments"); report.Rows != rows || n != report.AmountMinor {
		t.Errorf("%d rows, their amounts sum to %d in the database and to %d in the file", report.Rows, n, report.AmountMinor)
	}
	for status, want := range report.Statuses {
		if n := scalar(t, db, "SELECT COUNT(*) FROM reservations WHERE status = '"+string(status)+"'"); n != want {
			t.Errorf("%d are %s, want %d", n, status, want)
		}
	}
}
