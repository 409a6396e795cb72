//go:build !race

package repository

import (
	"path/filepath"
	"testing"
)

func TestLoadTheHotelBookingsIntoSQLite(t *testing.T) {
	checkLoadOfSample(t, openTest(t, Config{Path: filepath.Join(t.TempDir(), "bookings.db")}))
}
