package repository

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"rowmill/ingest"
	"rowmill/reservation"
)

// inserts is how rows are inserted.
type inserts struct {
	prefix string // before the names of the tables
	rows   int    // a statement, at most
}

// insertBytes of text, doubled by escaping, stay under a max_allowed_packet of
// 4 MiB, the smallest default of a MySQL in use.
const insertBytes = 1 << 20

// progressRows: a bar needs no more than that.
const progressRows = 1000

// load inserts rows into every table, many a statement.
type load struct {
	progress func(done int64)

	properties, products, channels, agents                           *inserter
	reservations, guests, payments, cancellations, stays, couponUses *inserter
}

func newLoad(tx *sql.Tx, how inserts, progress func(done int64)) *load {
	if progress == nil {
		progress = func(int64) {}
	}
	into := func(t loadTable) *inserter { return newInserter(tx, how, t) }
	return &load{
		progress:      progress,
		properties:    into(tableProperties),
		products:      into(tableProducts),
		channels:      into(tableChannels),
		agents:        into(tableAgents),
		reservations:  into(tableReservations),
		guests:        into(tableGuests),
		payments:      into(tablePayments),
		cancellations: into(tableCancellations),
		stays:         into(tableStays),
		couponUses:    into(tableCouponUses),
	}
}

// all inserts every row of src, and then the look-ups that they named: nobody
// sees the one without the other, it is one transaction.
func (l *load) all(ctx context.Context, src *ingest.Source) error {
	var taken int64
	for row, err := range src.Rows() {
		if err == nil {
			err = l.row(ctx, &row)
		}
		if err != nil {
			return err
		}
		taken++
		if taken%progressRows == 0 {
			l.progress(taken)
		}
	}
	if err := l.lookups(ctx, src.Lookups()); err != nil {
		return err
	}
	for _, in := range []*inserter{
		l.properties, l.products, l.channels, l.agents,
		l.reservations, l.guests, l.payments, l.cancellations, l.stays, l.couponUses,
	} {
		if err := in.flush(ctx); err != nil {
			return err
		}
	}
	l.progress(taken)
	return nil
}

func (l *load) row(ctx context.Context, r *reservation.Reservation) error {
	err := l.reservations.add(ctx, r.ID, r.Code, r.PropertyID, r.ProductID, r.ChannelID, orNull(r.AgentID), orNull(r.Company),
		string(r.Status), onDay(r.StatusDate), onDay(r.BookedOn), onDay(r.CheckIn), onDay(r.CheckOut), r.Nights, orNull(r.Memo), at(r.UpdatedAt))
	if g := r.Guest; g != nil && err == nil {
		err = l.guests.add(ctx, r.ID, g.Name, g.Phone, g.Email, orNull(g.Country), g.Adults, orNull(g.Children), g.Babies,
			g.CustomerType, g.Repeated, g.EarlierCanceled, g.EarlierKept)
	}
	if p := r.Payment; p != nil && err == nil {
		var paidAt any
		if p.PaidAt != nil {
			paidAt = at(*p.PaidAt)
		}
		err = l.payments.add(ctx, r.ID, p.AmountMinor, p.RateMinor, p.Currency, p.Terms, p.Status, paidAt)
	}
	if c := r.Cancellation; c != nil && err == nil {
		err = l.cancellations.add(ctx, r.ID, onDay(c.CanceledOn), c.Reason)
	}
	if s := r.Stay; s != nil && err == nil {
		err = l.stays.add(ctx, r.ID, s.RoomType, s.Meal, s.Parking, s.Requests, s.Changes, s.WaitingDays)
	}
	if u := r.CouponUse; u != nil && err == nil {
		err = l.couponUses.add(ctx, r.ID, u.Code, u.DiscountMinor, onDay(u.UsedOn))
	}
	return err
}

func (l *load) lookups(ctx context.Context, met ingest.Lookups) error {
	for _, p := range met.Properties {
		if err := l.properties.add(ctx, p.ID, p.Name); err != nil {
			return err
		}
	}
	for _, p := range met.Products {
		if err := l.products.add(ctx, p.ID, p.PropertyID, p.Name); err != nil {
			return err
		}
	}
	for _, c := range met.Channels {
		if err := l.channels.add(ctx, c.ID, c.Name); err != nil {
			return err
		}
	}
	for _, a := range met.Agents {
		if err := l.agents.add(ctx, a.ID, a.PropertyID, a.Code, a.Name); err != nil {
			return err
		}
	}
	return nil
}

func onDay(t time.Time) string { return t.UTC().Format(dayLayout) }

func at(t time.Time) string { return t.UTC().Format(momentLayout) }

func orNull[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// inserter collects rows of a table and inserts them when they are enough for a statement.
type inserter struct {
	tx      *sql.Tx
	head    string // INSERT INTO … VALUES
	columns int
	rows    int       // a statement, at most
	whole   *sql.Stmt // of so many rows; closed with the transaction
	args    []any
	bytes   int // of text in args
}

func newInserter(tx *sql.Tx, how inserts, t loadTable) *inserter {
	return &inserter{
		tx:      tx,
		head:    "INSERT INTO " + how.prefix + t.name + " (" + t.columns + ") VALUES ",
		columns: strings.Count(t.columns, ",") + 1,
		rows:    how.rows,
	}
}

func (i *inserter) waiting() int { return len(i.args) / i.columns }

func (i *inserter) add(ctx context.Context, values ...any) error {
	i.args = append(i.args, values...)
	for _, v := range values {
		if s, ok := v.(string); ok {
			i.bytes += len(s)
		}
	}
	if i.waiting() < i.rows && i.bytes < insertBytes {
		return nil
	}
	return i.flush(ctx)
}

// flush inserts the rows that wait, if any.
func (i *inserter) flush(ctx context.Context) error {
	rows := i.waiting()
	var err error
	switch {
	case rows == 0:
		return nil
	case rows < i.rows:
		_, err = i.tx.ExecContext(ctx, i.statement(rows), i.args...)
	default:
		if i.whole == nil {
			if i.whole, err = i.tx.PrepareContext(ctx, i.statement(rows)); err != nil {
				return err
			}
		}
		_, err = i.whole.ExecContext(ctx, i.args...)
	}
	i.args, i.bytes = i.args[:0], 0
	return err
}

func (i *inserter) statement(rows int) string {
	row := "(" + strings.Join(slices.Repeat([]string{"?"}, i.columns), ", ") + ")"
	return i.head + strings.Repeat(row+", ", rows-1) + row
}
