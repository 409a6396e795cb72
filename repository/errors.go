package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"

	"rowmill/internal/fault"
)

// MySQL's error numbers, https://mariadb.com/kb/en/mariadb-error-code-reference/,
// that say "not now" and not "not so": too many connections, shutdown, lock wait
// timeout, deadlock, connection or query killed, network trouble.
var mysqlUnavailable = []uint16{1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1317, 1927, 3024}

// SQLite's primary result codes of the same kind: busy, locked, I/O error, full
// disk, cannot open. https://www.sqlite.org/rescode.html
var sqliteUnavailable = []int{5, 6, 10, 13, 14}

const (
	mysqlDuplicate   = 1062
	mysqlDeadlock    = 1213
	sqliteUnique     = 2067
	sqlitePrimaryKey = 1555
)

// mapError turns a driver's error into one that crosses the package's border.
func mapError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	// A statement that was cut short fails in many ways; the reason is the context's.
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s: %w", doing, ended)
	}
	if _, ok := fault.As(err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = fmt.Errorf("%s: %w", doing, err)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fault.Wrap(err, fault.NotFound, "It does not exist.")
	case unavailable(err):
		return fault.Wrap(err, fault.Unavailable, "The database does not answer. Please try again.")
	}
	return err
}

func unavailable(err error) bool {
	var network net.Error
	var fromMySQL *mysql.MySQLError
	var fromSQLite *gosqlite.Error
	switch {
	case errors.As(err, &fromMySQL):
		return slices.Contains(mysqlUnavailable, fromMySQL.Number)
	case errors.As(err, &fromSQLite):
		return slices.Contains(sqliteUnavailable, fromSQLite.Code()&0xff)
	case errors.As(err, &network):
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, sql.ErrConnDone)
}

// duplicate reports whether a unique index refused the row.
func duplicate(err error) bool {
	if fromMySQL, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return fromMySQL.Number == mysqlDuplicate
	}
	if fromSQLite, ok := errors.AsType[*gosqlite.Error](err); ok {
		return fromSQLite.Code() == sqliteUnique || fromSQLite.Code() == sqlitePrimaryKey
	}
	return false
}

// deadlock reports whether the statement was given up for one that it and another
// waited for: sent again it works.
func deadlock(err error) bool {
	fromMySQL, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && fromMySQL.Number == mysqlDeadlock
}
