package repository

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"rowmill/internal/telemetry"
)

// countingPool counts every statement that gorm sends, where it leaves for the
// database: what no ORM layer above can hide.
type countingPool struct{ *sql.DB }

func (p countingPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	telemetry.StatementSent(ctx)
	return p.DB.PrepareContext(ctx, query)
}

func (p countingPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	telemetry.StatementSent(ctx)
	return p.DB.ExecContext(ctx, query, args...)
}

func (p countingPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	telemetry.StatementSent(ctx)
	return p.DB.QueryContext(ctx, query, args...)
}

func (p countingPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	telemetry.StatementSent(ctx)
	return p.DB.QueryRowContext(ctx, query, args...)
}

// BeginTx hands gorm a transaction that counts too, its BEGIN and its end included.
func (p countingPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	telemetry.StatementSent(ctx)
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &countingTx{Tx: tx, ctx: ctx}, nil
}

// GetDBConn gives the pool below.
func (p countingPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

type countingTx struct {
	*sql.Tx
	ctx context.Context // of BEGIN: the end of a transaction takes none
}

func (t *countingTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	telemetry.StatementSent(ctx)
	return t.Tx.PrepareContext(ctx, query)
}

func (t *countingTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	telemetry.StatementSent(ctx)
	return t.Tx.ExecContext(ctx, query, args...)
}

func (t *countingTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	telemetry.StatementSent(ctx)
	return t.Tx.QueryContext(ctx, query, args...)
}

func (t *countingTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	telemetry.StatementSent(ctx)
	return t.Tx.QueryRowContext(ctx, query, args...)
}

func (t *countingTx) Commit() error {
	telemetry.StatementSent(t.ctx)
	return t.Tx.Commit()
}

func (t *countingTx) Rollback() error {
	telemetry.StatementSent(t.ctx)
	return t.Tx.Rollback()
}
