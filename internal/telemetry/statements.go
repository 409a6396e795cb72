// Package telemetry carries what a request is known by and what it costs: the
// logger's fields, the trace, the count of SQL statements and the memory held.
package telemetry

import (
	"context"
	"sync/atomic"
)

type statementsKey struct{}

// Statements counts the SQL statements of one call. It is safe for concurrent use.
type Statements struct{ n atomic.Int64 }

// CountStatements returns a context under which the SQL pool counts its
// statements, and the count.
func CountStatements(ctx context.Context) (context.Context, *Statements) {
	s := new(Statements)
	return context.WithValue(ctx, statementsKey{}, s), s
}

// StatementSent counts one statement for the call that ctx belongs to, if any.
func StatementSent(ctx context.Context) {
	if s, ok := ctx.Value(statementsKey{}).(*Statements); ok {
		s.n.Add(1)
	}
}

// Count gives the statements sent so far.
func (s *Statements) Count() int64 { return s.n.Load() }
