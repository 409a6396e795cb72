package bench

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"
)

// line is the way to a database. It counts the statements that go over it and
// holds each up as a network would, where the driver sends them: no layer above
// can hide one, and none of the product's packages knows.
type line struct {
	wait  func(ctx context.Context, d time.Duration) error
	delay atomic.Int64 // nanoseconds a statement
	sent  atomic.Int64

	weigh    atomic.Bool  // whether bytes are counted, which costs time
	received atomic.Int64 // bytes of rows
}

func newLine(wait func(ctx context.Context, d time.Duration) error) *line { return &line{wait: wait} }

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// over puts the line between the connector and the pool.
func (l *line) over(c driver.Connector) driver.Connector { return wired{c, l} }

// pass is one statement's way there and back.
func (l *line) pass(ctx context.Context) error {
	l.sent.Add(1)
	if d := time.Duration(l.delay.Load()); d > 0 {
		return l.wait(ctx, d)
	}
	return nil
}

// read gives the rows that a statement had, weighed where that is wanted.
func (l *line) read(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil || !l.weigh.Load() {
		return rows, err
	}
	return weighed{rows, l}, nil
}

type wired struct {
	driver.Connector
	line *line
}

func (w wired) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return wiredConn{c, w.line}, nil
}

// wiredConn passes on all that a driver's connection may be asked.
type wiredConn struct {
	driver.Conn
	line *line
}

var (
	_ driver.QueryerContext     = wiredConn{}
	_ driver.ExecerContext      = wiredConn{}
	_ driver.ConnPrepareContext = wiredConn{}
	_ driver.ConnBeginTx        = wiredConn{}
	_ driver.Pinger             = wiredConn{}
	_ driver.NamedValueChecker  = wiredConn{}
	_ driver.SessionResetter    = wiredConn{}
	_ driver.Validator          = wiredConn{}
)

// QueryContext sends a query. What the driver does not take in one step
// (ErrSkip) has not been sent.
func (c wiredConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	rows, err := q.QueryContext(ctx, query, args)
	if errors.Is(err, driver.ErrSkip) {
		return nil, driver.ErrSkip
	}
	if passErr := c.line.pass(ctx); passErr != nil && err == nil {
		return nil, errors.Join(passErr, rows.Close())
	}
	return c.line.read(rows, err)
}

// ExecContext sends a statement without rows.
func (c wiredConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	e, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	result, err := e.ExecContext(ctx, query, args)
	if errors.Is(err, driver.ErrSkip) {
		return nil, driver.ErrSkip
	}
	if passErr := c.line.pass(ctx); passErr != nil {
		err = errors.Join(err, passErr)
	}
	return result, err
}

// PrepareContext asks the server to prepare a statement: a round trip of its own.
func (c wiredConn) PrepareContext(ctx context.Context, query string) (stmt driver.Stmt, err error) {
	if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
		stmt, err = p.PrepareContext(ctx, query)
	} else {
		stmt, err = c.Prepare(query)
	}
	if err != nil {
		return nil, err
	}
	if err := c.line.pass(ctx); err != nil {
		return nil, errors.Join(err, stmt.Close())
	}
	return wiredStmt{stmt, c.line}, nil
}

// BeginTx begins a transaction; its begin and its end are statements.
func (c wiredConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	b, ok := c.Conn.(driver.ConnBeginTx)
	if !ok {
		return nil, errors.New("the driver has no transactions with options")
	}
	tx, err := b.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := c.line.pass(ctx); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return wiredTx{tx, c.line, ctx}, nil
}

// Ping asks whether the server is there; that is no statement.
func (c wiredConn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// CheckNamedValue leaves values to the driver, or to database/sql.
func (c wiredConn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// ResetSession readies a connection for its next user.
func (c wiredConn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid reports whether the connection may be kept.
func (c wiredConn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

type wiredTx struct {
	driver.Tx
	line *line
	ctx  context.Context // of BEGIN: the end of a transaction takes none
}

func (t wiredTx) Commit() error   { return errors.Join(t.Tx.Commit(), t.line.pass(t.ctx)) }
func (t wiredTx) Rollback() error { return errors.Join(t.Tx.Rollback(), t.line.pass(t.ctx)) }
