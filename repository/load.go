package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"rowmill/ingest"
	"rowmill/internal/fault"
)

// Loader fills an empty database. It implements ingest.Store.
type Loader struct{ db *DB }

var _ ingest.Store = (*Loader)(nil)

// NewLoader returns the loader of d, whose schema must be up to date.
func NewLoader(d *DB) *Loader { return &Loader{db: d} }

// loadedTables are what a load fills; the reservations first, as they name the refusal.
var loadedTables = []string{
	"reservations", "guests", "payments", "cancellations", "stays", "coupon_uses",
	"properties", "products", "channels", "agents",
}

// Load stores src, or nothing: see ingest.Store. Loads of one database take turns.
func (l *Loader) Load(ctx context.Context, src *ingest.Source, progress func(done int64)) error {
	conn, err := l.db.pool.Conn(ctx)
	if err != nil {
		return mapError(ctx, "import", err)
	}
	defer func() { _ = conn.Close() }() // hands it back to the pool, nothing more
	engine := loadEngine(mysqlLoad{})
	if l.db.sqlite {
		engine = &sqliteLoad{}
	}
	if err = engine.begin(ctx, conn); err == nil {
		err = inTransaction(ctx, conn, engine, src, progress)
	}
	endSession(ctx, conn, engine)
	return mapError(ctx, "import", err)
}

// loadEngine is what an engine needs to load fast. The first and the last are
// called outside of the transaction, the others within.
type loadEngine interface {
	begin(ctx context.Context, conn *sql.Conn) error
	// before says how rows are to be inserted.
	before(ctx context.Context, tx *sql.Tx) (inserts, error)
	after(ctx context.Context, tx *sql.Tx) error
	// end makes the connection as it was; if it cannot, the connection is dropped.
	end(ctx context.Context, conn *sql.Conn) error
}

func inTransaction(ctx context.Context, conn *sql.Conn, engine loadEngine, src *ingest.Source, progress func(done int64)) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := refuseLoaded(ctx, tx); err != nil {
		return err
	}
	how, err := engine.before(ctx, tx)
	if err != nil {
		return err
	}
	if err := newLoad(tx, how, progress).all(ctx, src); err != nil {
		return err
	}
	if err := engine.after(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// refuseLoaded looks at every table: what is left of an older load would clash.
func refuseLoaded(ctx context.Context, tx *sql.Tx) error {
	for _, name := range loadedTables {
		var found bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+name+")").Scan(&found); err != nil {
			return err
		}
		if found {
			return fault.New(fault.Conflict, "The database already has %s; an import needs an empty one. Nothing was changed.", name)
		}
	}
	return nil
}

// sessionEnd bounds putting the session back, which also happens after ctx has ended.
const sessionEnd = 10 * time.Second

func endSession(ctx context.Context, conn *sql.Conn, e loadEngine) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionEnd)
	defer cancel()
	if err := e.end(ctx, conn); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody gets it as it is
	}
}
