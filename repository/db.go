// Package repository keeps reservations and export jobs in SQL: MySQL (or
// MariaDB) for many machines, an SQLite file for one. It owns every statement
// and is the only package that imports gorm.
//
// What it promises is the same on both engines, and one suite of tests runs on
// both: the statements of a call do not grow with its rows; text is compared by
// its bytes (case and trailing spaces count, order is code point order); days
// and times come back as they were stored, in UTC and to the microsecond.
package repository

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"

	"rowmill/internal/fault"
)

// Config says which database to open.
type Config struct {
	DSN          string       // of MySQL, as go-sql-driver/mysql writes it; "" for SQLite
	Path         string       // of the SQLite file, made if absent; unused with a DSN
	MaxOpenConns int          // 0: 16
	Logger       *slog.Logger // of slow statements; nil: none

	// Wrap, if not nil, gives the connector that connections are made by in place
	// of the driver's own: to measure what is sent, or to stand in for a network.
	Wrap func(driver.Connector) driver.Connector
}

const (
	defaultConns = 16
	connMaxIdle  = 5 * time.Minute
	// Under MySQL's wait_timeout (8 h) and under what proxies in between allow.
	connMaxLife = 30 * time.Minute
	dialTimeout = 10 * time.Second
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	gorm   *gorm.DB
	pool   *sql.DB
	sqlite bool
}

// Open opens the database and checks that it answers. A wrong Config is
// Invalid, a database that does not answer Unavailable.
func Open(ctx context.Context, c Config) (*DB, error) {
	d := &DB{sqlite: c.DSN == ""}
	connector, err := c.connector()
	if err != nil {
		return nil, err
	}
	if c.Wrap != nil {
		connector = c.Wrap(connector)
	}
	d.pool = sql.OpenDB(connector)
	conns := cmp.Or(c.MaxOpenConns, defaultConns)
	d.pool.SetMaxOpenConns(conns)
	d.pool.SetMaxIdleConns(conns)
	d.pool.SetConnMaxIdleTime(connMaxIdle)
	d.pool.SetConnMaxLifetime(connMaxLife)
	if err = d.Ping(ctx); err == nil {
		d.gorm, err = d.build(c.Logger)
	}
	if err != nil {
		_ = d.pool.Close()
		return nil, mapError(ctx, "open the database", err)
	}
	return d, nil
}

func (d *DB) build(log *slog.Logger) (*gorm.DB, error) {
	pool := countingPool{d.pool}
	var dialector gorm.Dialector = &sqlite.Dialector{Conn: pool}
	if !d.sqlite {
		dialector = gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true})
	}
	return gorm.Open(dialector, &gorm.Config{
		Logger:                 newSlowLog(log),
		SkipDefaultTransaction: true, // every write here is one statement
		DisableAutomaticPing:   true,
		NowFunc:                func() time.Time { return time.Now().UTC() },
	})
}

func (c Config) connector() (driver.Connector, error) {
	if c.DSN == "" {
		return sqliteConnectorOf(c.Path)
	}
	return mysqlConnector(c.DSN)
}

func mysqlConnector(dsn string) (driver.Connector, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The MySQL DSN is not valid.")
	}
	c.ParseTime = true
	c.Loc = time.UTC
	c.InterpolateParams = true // one round trip a statement, not three
	c.ClientFoundRows = true   // a compare-and-set counts the rows it matched
	c.Timeout = cmp.Or(c.Timeout, dialTimeout)
	c.Logger = &mysql.NopLogger{} // its errors are returned as well
	if err := c.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The MySQL DSN is not valid.")
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The MySQL DSN is not valid.")
	}
	return connector, nil
}

// sqliteConnector opens one file; the driver has no connector of its own.
type sqliteConnector struct {
	driver driver.Driver
	name   string
}

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c sqliteConnector) Driver() driver.Driver                        { return c.driver }

func sqliteConnectorOf(path string) (driver.Connector, error) {
	if path == "" {
		return nil, fault.New(fault.Invalid, "Name a MySQL DSN or the path of an SQLite file.")
	}
	query := url.Values{
		"_pragma": {
			"busy_timeout(10000)",
			"journal_mode(WAL)",
			"synchronous(NORMAL)",     // with WAL safe against a crash of the process
			"case_sensitive_like(ON)", // as MySQL's utf8mb4_bin compares
		},
		"_txlock": {"immediate"}, // or two writers that read first would fail as busy
	}
	file := url.URL{Path: filepath.ToSlash(filepath.Clean(path))}
	db, err := sql.Open(sqlite.DriverName, "") // only to have the driver: it opens nothing
	if err != nil {
		return nil, err
	}
	return sqliteConnector{db.Driver(), "file:" + file.EscapedPath() + "?" + query.Encode()}, db.Close()
}

// Close closes the connections.
func (d *DB) Close() error { return d.pool.Close() }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error {
	return mapError(ctx, "ping the database", d.pool.PingContext(ctx))
}

// rows sends a query.
func (d *DB) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.gorm.WithContext(ctx).Raw(query, args...).Rows()
}
