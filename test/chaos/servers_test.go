package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	stop = syscall.SIGSTOP
	cont = syscall.SIGCONT
)

// apply lets a fault befall the target and gives what lifts it; the fault of a
// moment has nothing to lift.
func (h *house) apply(ctx context.Context, f fault) (lift func(context.Context) error, err error) {
	if e := h.edges[f.Target]; e != nil {
		return e.apply(f)
	}
	if m := h.members[f.Target]; m != nil {
		return m.apply(ctx, f)
	}
	switch f.Target {
	case "sql":
		return h.applySQL(ctx, f)
	case "redis":
		return h.applyRedis(ctx, f)
	case "s3":
		return h.s3.apply(f)
	}
	return nil, fmt.Errorf("nobody knows how to let %s befall %s", f.Kind, f.Target)
}

func (h *house) applySQL(ctx context.Context, f fault) (lift func(context.Context) error, err error) {
	switch f.Kind {
	case sqlReadOnly:
		return h.setGlobal(ctx, "read_only", "0", "1")
	case sqlCrowded:
		// The least that the server takes is 10; the test's own take all of them but root's.
		return h.setGlobal(ctx, "max_connections", "300", "10")
	case sqlKills:
		return h.repeat(ctx, h.killConnections), nil
	case sqlLocks:
		return h.repeat(ctx, h.lockRows), nil
	case sqlStopped:
		return func(context.Context) error { return h.sql.Signal(cont) }, h.sql.Signal(stop)
	default:
		return h.sql.Start, h.sql.Kill()
	}
}

func (h *house) setGlobal(ctx context.Context, name, usual, now string) (lift func(context.Context) error, err error) {
	set := func(ctx context.Context, value string) error {
		_, err := h.db.ExecContext(ctx, "SET GLOBAL "+name+" = "+value)
		return err
	}
	return func(ctx context.Context) error { return set(ctx, usual) }, set(ctx, now)
}

// repeat does something again and again until it is lifted.
func (h *house) repeat(ctx context.Context, do func(context.Context) error) (lift func(context.Context) error) {
	inner, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			if err := do(inner); err != nil {
				ended <- err
				return
			}
			select {
			case <-inner.Done():
				ended <- nil
				return
			case <-again.C:
			}
		}
	}()
	return func(context.Context) error {
		end()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

// killConnections kills each connection of the product.
func (h *house) killConnections(ctx context.Context) error {
	ids, err := h.texts(ctx, "SELECT id FROM information_schema.processlist WHERE user = 'rowmill'")
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, _ = h.db.ExecContext(ctx, "KILL "+id) // it may have gone by itself
	}
	return nil
}

// lockRows holds the rows of the live jobs for a while, taken in any order: who
// writes them waits or is the victim of a deadlock.
func (h *house) lockRows(ctx context.Context) (err error) {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if ended := tx.Rollback(); !errors.Is(ended, sql.ErrTxDone) {
			err = errors.Join(err, ended)
		}
	}()
	ids, err := h.texts(ctx, "SELECT id FROM rowmill.export_jobs WHERE status IN ('queued', 'running') ORDER BY RAND()")
	if err != nil {
		return err
	}
	for _, id := range ids {
		// A deadlock's victim may as well be this one: its locks are gone, and the next try takes them again.
		if _, err := tx.ExecContext(ctx, "UPDATE rowmill.export_jobs SET rows_written = rows_written + 1 WHERE id = ?", id); err != nil {
			return nil
		}
	}
	held := time.NewTimer(300 * time.Millisecond)
	defer held.Stop()
	select {
	case <-held.C:
	case <-ctx.Done():
	}
	return nil
}

// texts gives the one column of a query.
func (h *house) texts(ctx context.Context, query string, args ...any) (found []string, err error) {
	rows, err := h.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		found = append(found, text)
	}
	return found, rows.Err()
}

func (h *house) applyRedis(ctx context.Context, f fault) (lift func(context.Context) error, err error) {
	switch f.Kind {
	case redisFlushed:
		return nil, h.keys.FlushAll(ctx).Err()
	case redisPaused:
		return nil, h.keys.Do(ctx, "CLIENT", "PAUSE", f.For.Milliseconds(), "ALL").Err()
	case redisStopped:
		return func(context.Context) error { return h.redis.Signal(cont) }, h.redis.Signal(stop)
	default:
		return h.redis.Start, h.redis.Kill()
	}
}
