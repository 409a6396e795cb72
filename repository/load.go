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

// loadTable is a table that a load fills. Its first column is its key, its
// columns stand in the order in which load gives their values.
type loadTable struct{ name, columns string }

var (
	tableReservations  = loadTable{"reservations", "id, code, property_id, product_id, channel_id, agent_id, company, status, status_date, booked_on, check_in, check_out, nights, memo, updated_at"}
	tableGuests        = loadTable{"guests", "reservation_id, name, phone, email, country, adults, children, babies, customer_type, repeated, earlier_canceled, earlier_kept"}
	tablePayments      = loadTable{"payments", "reservation_id, amount_minor, rate_minor, currency, terms, status, paid_at"}
	tableCancellations = loadTable{"cancellations", "reservation_id, canceled_on, reason"}
	tableStays         = loadTable{"stays", "reservation_id, room_type, meal, parking, requests, changes, waiting_days"}
	tableCouponUses    = loadTable{"coupon_uses", "reservation_id, code, discount_minor, used_on"}
	tableProperties    = loadTable{"properties", "id, name"}
	tableProducts      = loadTable{"products", "id, property_id, name"}
	tableChannels      = loadTable{"channels", "id, name"}
	tableAgents        = loadTable{"agents", "id, property_id, code, name"}
)

// loadTables has the reservations first, as a refusal names the first that is not empty.
var loadTables = []loadTable{
	tableReservations, tableGuests, tablePayments, tableCancellations, tableStays, tableCouponUses,
	tableProperties, tableProducts, tableChannels, tableAgents,
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
		err = l.inTransaction(ctx, conn, engine, src, progress)
	}
	endLoad(ctx, conn, engine, err == nil)
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
	end(ctx context.Context, conn *sql.Conn, loaded bool) error
}

func (l *Loader) inTransaction(ctx context.Context, conn *sql.Conn, engine loadEngine, src *ingest.Source, progress func(done int64)) error {
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
	if err := l.db.seedCoupons(ctx, tx, int64(len(src.Lookups().Products))); err != nil {
		return err
	}
	return tx.Commit()
}

// seedCoupons adds the coupons that come with the products, if there are none yet.
func (d *DB) seedCoupons(ctx context.Context, tx *sql.Tx, products int64) error {
	var found bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM coupon_rules)").Scan(&found); err != nil || found {
		return err
	}
	return d.putCoupons(ctx, tx, ingest.Coupons(products))
}

// refuseLoaded looks at every table: what is left of an older load would clash.
func refuseLoaded(ctx context.Context, tx *sql.Tx) error {
	for _, t := range loadTables {
		var found bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+")").Scan(&found); err != nil {
			return err
		}
		if found {
			return fault.New(fault.Conflict, "The database already has %s; an import needs an empty one. Nothing was changed.", t.name)
		}
	}
	return nil
}

// loadEnd bounds the end of a load, which also comes when ctx has ended.
const loadEnd = 30 * time.Second

func endLoad(ctx context.Context, conn *sql.Conn, e loadEngine, loaded bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadEnd)
	defer cancel()
	if err := e.end(ctx, conn, loaded); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody gets it as it is
	}
}

// execAll sends the statements in their order, to a connection or in a transaction.
func execAll(ctx context.Context, on interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements []string) error {
	for _, statement := range statements {
		if _, err := on.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
