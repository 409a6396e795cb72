package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"rowmill/internal/fault"
	"rowmill/migrations"
)

// Migrate brings the schema up to date. Processes that start together on MySQL
// take turns. An SQLite file belongs to one process; of two that migrate it at
// once, one fails and may try again, as each step is a transaction.
func (d *DB) Migrate(ctx context.Context) error {
	provider, err := d.migrations()
	if err != nil {
		return err
	}
	if d.sqlite {
		_, err = provider.Up(ctx)
		return mapError(ctx, "migrate", err)
	}
	return mapError(ctx, "migrate", d.inTurn(ctx, func() error {
		_, err := provider.Up(ctx)
		return err
	}))
}

// inTurn holds MySQL's lock of the database while do runs. goose's own locking
// begins too late: it reads its table of versions before, which another process
// may just be making.
func (d *DB) inTurn(ctx context.Context, do func() error) (err error) {
	// The lock holds a connection, and do needs another: of a pool of one it would wait for ever.
	if d.pool.Stats().MaxOpenConnections == 1 {
		d.pool.SetMaxOpenConns(2)
		defer d.pool.SetMaxOpenConns(1)
	}
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	got, err := takeLock(ctx, conn, lockSeconds)
	if err != nil {
		return err
	}
	if !got {
		return fault.New(fault.Unavailable, "Another process has been migrating the database for %d seconds.", lockSeconds)
	}
	return errors.Join(do(), freeLock(context.WithoutCancel(ctx), conn))
}

// Migrated reports whether the schema is the one that this release needs, or a newer one.
func (d *DB) Migrated(ctx context.Context) error {
	provider, err := d.migrations()
	if err != nil {
		return err
	}
	pending, err := provider.HasPending(ctx)
	if err == nil && pending {
		return fault.New(fault.Unavailable, "The database's schema is not up to date: run rowmill migrate.")
	}
	return mapError(ctx, "ask for the schema's version", err)
}

func (d *DB) migrations() (*goose.Provider, error) {
	dialect, files, folder := goose.DialectMySQL, fs.FS(migrations.MySQL), "mysql"
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d.sqlite {
		dialect, files, folder = goose.DialectSQLite3, migrations.SQLite, "sqlite"
	}
	files, err := fs.Sub(files, folder)
	if err != nil {
		return nil, fmt.Errorf("find the migrations: %w", err)
	}
	provider, err := goose.NewProvider(dialect, d.pool, files, options...)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}

// The lock is MySQL's GET_LOCK, one name a database; it falls with its connection,
// so that a killed process leaves none behind.
const (
	lockName    = "CONCAT('rowmill.', MD5(DATABASE()))" // a name is the server's and has at most 64 characters
	lockSeconds = 300
)

// takeLock waits for the lock, seconds at most, and reports whether it was got.
func takeLock(ctx context.Context, conn *sql.Conn, seconds int) (bool, error) {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", ?)", seconds).Scan(&got)
	return got.Int64 == 1, err
}

func freeLock(ctx context.Context, conn *sql.Conn) error {
	var freed sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK("+lockName+")").Scan(&freed); err != nil {
		return err
	}
	if freed.Int64 != 1 {
		return errors.New("the migration's lock was lost")
	}
	return nil
}
