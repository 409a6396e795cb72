package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

func eachEngine(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, openTest(t, "")) })
	t.Run("mysql", func(t *testing.T) { test(t, openTest(t, testdb.MySQL(t))) })
}

func openTest(t *testing.T, dsn string) *database {
	t.Helper()
	db, err := openDatabase(t.Context(), dsn, filepath.Join(t.TempDir(), "db"), 4, newLine(pause))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func count(t *testing.T, db *database, query string) (n int64) {
	t.Helper()
	if err := db.raw.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPrepareRefusesADatabaseThatIsNotItsOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		if _, err := db.raw.ExecContext(t.Context(), "CREATE TABLE precious (id INTEGER)"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.prepare(t.Context(), 10); fault.KindOf(err) != fault.Conflict {
			t.Errorf("got %v", err)
		}
		tables, err := db.tables(t.Context())
		if err != nil || len(tables) != 1 {
			t.Errorf("it left the tables %v, error %v", tables, err)
		}
	})
}

func TestPrepareFillsAnEmptyDatabaseOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		for _, rows := range []int64{30, 30, 20} {
			held, err := db.prepare(t.Context(), rows)
			if err != nil || held != 30 || count(t, db, "SELECT COUNT(*) FROM reservations") != 30 {
				t.Fatalf("asked for %d rows: holds %d, error %v", rows, held, err)
			}
		}
		if _, err := db.prepare(t.Context(), 31); fault.KindOf(err) != fault.Conflict {
			t.Errorf("asked for more rows than it holds: got %v", err)
		}
	})
}

func TestPrepareGoesOnAfterALoadThatWasKilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		if _, err := db.prepare(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		for _, undo := range []string{"DELETE FROM reservations", "DELETE FROM guests", "DELETE FROM payments", "DELETE FROM cancellations", "DELETE FROM stays", "DELETE FROM coupon_uses",
			"DELETE FROM properties", "DELETE FROM products", "DELETE FROM channels", "DELETE FROM agents", "UPDATE " + markTable + " SET row_count = 0"} {
			if _, err := db.raw.ExecContext(t.Context(), undo); err != nil {
				t.Fatal(err)
			}
		}
		if held, err := db.prepare(t.Context(), 6); err != nil || held != 6 || count(t, db, "SELECT COUNT(*) FROM reservations") != 6 {
			t.Errorf("holds %d, error %v", held, err)
		}
	})
}

func TestTheLineCountsWhatIsSent(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		ctx := t.Context()
		sent := func(what string, want int64, do func() error) {
			t.Helper()
			before := db.line.sent.Load()
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := db.line.sent.Load() - before; got != want {
				t.Errorf("%s sent %d statements, want %d", what, got, want)
			}
		}
		exec := func(query string, args ...any) func() error {
			return func() error {
				_, err := db.raw.ExecContext(ctx, query, args...)
				return err
			}
		}
		var n int64
		sent("a ping", 0, func() error { return db.raw.PingContext(ctx) })
		sent("a statement", 1, exec("CREATE TABLE t (n INTEGER)"))
		sent("a statement with a value", 1, exec("INSERT INTO t VALUES (?)", 5))
		sent("a query", 1, func() error { return db.raw.QueryRowContext(ctx, "SELECT n FROM t WHERE n = ?", 5).Scan(&n) })
		sent("a transaction", 4, func() error {
			tx, err := db.raw.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			for _, value := range []int{6, 7} {
				if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (?)", value); err != nil {
					return err
				}
			}
			return tx.Commit()
		})
		sent("a transaction undone", 2, func() error {
			tx, err := db.raw.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			return tx.Rollback()
		})
		sent("a prepared statement", 3, func() error {
			stmt, err := db.raw.PrepareContext(ctx, "INSERT INTO t VALUES (?)")
			if err != nil {
				return err
			}
			defer stmt.Close()
			_, execErr := stmt.ExecContext(ctx, 8)
			_, err = stmt.ExecContext(ctx, 9)
			return errors.Join(execErr, err)
		})
		if n != 5 || count(t, db, "SELECT COUNT(*) FROM t") != 5 {
			t.Errorf("read %d; the table has %d rows", n, count(t, db, "SELECT COUNT(*) FROM t"))
		}
	})
}

func TestADelayEndsWithItsContext(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		gone := errors.New("the caller has gone")
		db.line.wait = func(ctx context.Context, d time.Duration) error {
			if d != time.Hour {
				t.Errorf("asked to wait %v", d)
			}
			return gone
		}
		db.line.delay.Store(int64(time.Hour))
		var n int
		if err := db.raw.QueryRowContext(t.Context(), "SELECT 1").Scan(&n); !errors.Is(err, gone) {
			t.Errorf("a query: %v", err)
		}
		if _, err := db.raw.ExecContext(t.Context(), "CREATE TABLE t (n INTEGER)"); !errors.Is(err, gone) {
			t.Errorf("a statement: %v", err)
		}
		if stmt, err := db.raw.PrepareContext(t.Context(), "SELECT 1"); err == nil {
			defer stmt.Close()
			t.Error("a statement was prepared")
		} else if !errors.Is(err, gone) {
			t.Errorf("a prepared statement: %v", err)
		}
		if _, err := db.raw.BeginTx(t.Context(), nil); !errors.Is(err, gone) {
			t.Errorf("a transaction: %v", err)
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := pause(ctx, time.Hour); !errors.Is(err, gone) {
		t.Errorf("pause gave %v", err)
	}
}
