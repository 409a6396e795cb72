package repository

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"rowmill/internal/telemetry"
)

// countingPool counts every statement that gorm sends, and begins its span, where it
// leaves for the database: what no ORM layer above can hide.
type countingPool struct{ *sql.DB }

func (p countingPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	ctx, span := statement(ctx, query)
	stmt, err := p.DB.PrepareContext(ctx, query)
	span.End(err)
	return stmt, err
}

func (p countingPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, span := statement(ctx, query)
	res, err := p.DB.ExecContext(ctx, query, args...)
	span.End(err)
	return res, err
}

func (p countingPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, span := statement(ctx, query)
	rows, err := p.DB.QueryContext(ctx, query, args...)
	span.End(err)
	return rows, err
}

func (p countingPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, span := statement(ctx, query)
	row := p.DB.QueryRowContext(ctx, query, args...)
	span.End(row.Err())
	return row
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
	ctx, span := statement(ctx, query)
	stmt, err := t.Tx.PrepareContext(ctx, query)
	span.End(err)
	return stmt, err
}

func (t *countingTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, span := statement(ctx, query)
	res, err := t.Tx.ExecContext(ctx, query, args...)
	span.End(err)
	return res, err
}

func (t *countingTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, span := statement(ctx, query)
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	span.End(err)
	return rows, err
}

func (t *countingTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, span := statement(ctx, query)
	row := t.Tx.QueryRowContext(ctx, query, args...)
	span.End(row.Err())
	return row
}

func (t *countingTx) Commit() error {
	telemetry.StatementSent(t.ctx)
	return t.Tx.Commit()
}

func (t *countingTx) Rollback() error {
	telemetry.StatementSent(t.ctx)
	return t.Tx.Rollback()
}
