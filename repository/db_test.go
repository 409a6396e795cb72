package repository

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		c    Config
		want fault.Kind
	}{
		"nothing":            {Config{}, fault.Invalid},
		"no DSN":             {Config{DSN: "mysql://root:secret@host/db"}, fault.Invalid},
		"nobody listens":     {Config{DSN: "root:secret@tcp(" + address + ")/db"}, fault.Unavailable},
		"a folder of nobody": {Config{Path: filepath.Join(t.TempDir(), "none", "db")}, fault.Unavailable},
	} {
		_, err := Open(t.Context(), test.c)
		if fault.KindOf(err) != test.want || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %v (%s), want %s", name, err, fault.KindOf(err), test.want)
		}
	}
}

func TestMigrateByManyAtOnceAndAgain(t *testing.T) {
	dsn := testdb.MySQL(t)
	dbs := make([]*DB, 24)
	for i := range 4 {
		db, err := Open(t.Context(), Config{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		for at := i; at < len(dbs); at += 4 {
			dbs[at] = db
		}
	}
	if done := race(t, func(i int) (bool, error) {
		err := dbs[i].Migrate(t.Context())
		return err == nil, err
	}); done != len(dbs) {
		t.Errorf("%d of %d migrated", done, len(dbs))
	}
	eachEngine(t, func(t *testing.T, db *DB) {
		if err := db.Migrate(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestEveryStatementCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		ctx, sent := telemetry.CountStatements(t.Context())
		g := db.gorm.WithContext(ctx)
		var n int
		err := errors.Join(
			g.Raw("SELECT 1").Row().Scan(&n),
			g.Exec("UPDATE workers SET id = id").Error,
			g.Raw("SELECT 1").Scan(&n).Error,
			g.Transaction(func(tx *gorm.DB) error { // and its begin and commit
				return errors.Join(tx.Exec("UPDATE workers SET id = id").Error, tx.Raw("SELECT 1").Row().Scan(&n))
			}),
		)
		if err != nil || sent.Count() != 7 {
			t.Errorf("%d statements, %v, want 7", sent.Count(), err)
		}
		ctx, sent = telemetry.CountStatements(t.Context())
		undo := errors.New("undo")
		err = db.gorm.WithContext(ctx).Transaction(func(*gorm.DB) error { return undo })
		if !errors.Is(err, undo) || sent.Count() != 2 {
			t.Errorf("a transaction that is undone: %d statements, %v, want 2", sent.Count(), err)
		}
	})
}

func TestErrorsCrossTheBorderAsWhatTheyAre(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	invalid := fault.New(fault.Invalid, "no")
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		kind fault.Kind
		is   error
	}{
		"no row":             {t.Context(), sql.ErrNoRows, fault.NotFound, sql.ErrNoRows},
		"bad connection":     {t.Context(), mysql.ErrInvalidConn, fault.Unavailable, mysql.ErrInvalidConn},
		"network":            {t.Context(), &net.OpError{Op: "dial", Err: errors.New("refused")}, fault.Unavailable, nil},
		"deadlock":           {t.Context(), &mysql.MySQLError{Number: 1213}, fault.Unavailable, nil},
		"too many clients":   {t.Context(), &mysql.MySQLError{Number: 1040}, fault.Unavailable, nil},
		"syntax":             {t.Context(), &mysql.MySQLError{Number: 1064}, fault.Internal, nil},
		"ended context":      {ended, mysql.ErrInvalidConn, fault.Internal, context.Canceled},
		"context's error":    {t.Context(), context.DeadlineExceeded, fault.Unavailable, context.DeadlineExceeded},
		"a fault of our own": {t.Context(), invalid, fault.Invalid, invalid},
	} {
		err := mapError(test.ctx, "do", test.err)
		if fault.KindOf(err) != test.kind || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v (%s), want %s", name, err, fault.KindOf(err), test.kind)
		}
	}
	if err := mapError(ended, "do", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// A lock that another connection holds is a reason to try again.
func TestABusySQLiteFileIsUnavailable(t *testing.T) {
	db := openTest(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	tx, err := db.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	conn, err := db.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "PRAGMA busy_timeout(1)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.ExecContext(t.Context(), "DELETE FROM workers")
	if err = mapError(t.Context(), "write", err); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestOnlySlowStatementsAreLoggedAndWithoutValues(t *testing.T) {
	var out bytes.Buffer
	db, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "db"), Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func() {
		var s string
		if err := db.gorm.WithContext(t.Context()).Raw("SELECT ?", "Kim Minjun").Row().Scan(&s); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	if out.Len() > 0 {
		t.Errorf("a quick statement was logged: %s", &out)
	}
	log := db.gorm.Logger.LogMode(0)
	statement := func() (string, int64) {
		query, values := log.(gorm.ParamsFilter).ParamsFilter(t.Context(), "SELECT ?"+strings.Repeat(" ", 1000), "Kim Minjun")
		return db.gorm.Dialector.Explain(query, values...), 1
	}
	log.Trace(t.Context(), time.Now().Add(-2*slowStatement), statement, nil)
	if got := out.String(); !strings.Contains(got, "SELECT ?") || strings.Contains(got, "Minjun") || len(got) > 600 {
		t.Errorf("logged %s", got)
	}
}
