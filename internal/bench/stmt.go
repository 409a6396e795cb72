package bench

import (
	"context"
	"database/sql/driver"
	"errors"
)

// wiredStmt is a prepared statement whose runs go over the line.
type wiredStmt struct {
	driver.Stmt
	line *line
}

var (
	_ driver.StmtQueryContext  = wiredStmt{}
	_ driver.StmtExecContext   = wiredStmt{}
	_ driver.NamedValueChecker = wiredStmt{}
)

// Both drivers have these; database/sql's ways around their lack are not rebuilt here.
var errOldDriver = errors.New("the driver's statements take no context")

func (s wiredStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := s.Stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, errOldDriver
	}
	rows, err := q.QueryContext(ctx, args)
	if passErr := s.line.pass(ctx); passErr != nil && err == nil {
		return nil, errors.Join(passErr, rows.Close())
	}
	return s.line.read(rows, err)
}

func (s wiredStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	e, ok := s.Stmt.(driver.StmtExecContext)
	if !ok {
		return nil, errOldDriver
	}
	result, err := e.ExecContext(ctx, args)
	if passErr := s.line.pass(ctx); passErr != nil {
		err = errors.Join(err, passErr)
	}
	return result, err
}

// CheckNamedValue leaves values to the driver, or to database/sql.
func (s wiredStmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
