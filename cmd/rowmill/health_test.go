package main

import (
	"log/slog"
	"testing"

	"rowmill/internal/config"
	"rowmill/internal/testdb"
)

// A process on a schema that was not migrated runs, says what it lacks, and is
// ready as soon as somebody has migrated.
func TestHealthNamesTheSchemaUntilItIsMigrated(t *testing.T) {
	cfg, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Roles, cfg.MySQLDSN, cfg.ServiceToken = []string{string(config.Reservations)}, testdb.MySQL(t), testToken
	cfg.ReservationsAddr, cfg.AdminAddr = "127.0.0.1:0", "127.0.0.1:0"
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	runUntilCleanup(t, a)

	admin := "--admin-addr=" + a.admin.ln.Addr().String()
	_, stderr := rowmill(t.Context(), t, 1, "health", admin)
	has(t, "health before the migration", stderr, "not ready (503 Service Unavailable): schema is not ready")
	rowmill(t.Context(), t, 0, "migrate", "--mysql-dsn="+cfg.MySQLDSN)
	out, _ := rowmill(t.Context(), t, 0, "health", admin)
	has(t, "health after it", out, "ready")
}
