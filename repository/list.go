package repository

import (
	"context"
	"fmt"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// List implements reservation.Store. The ids of the page come from an index
// alone, and only they are looked up. A page by number costs about the same
// wherever it is: see from. A window after a row that is gone is a Conflict, as
// its place in the order went with it.
func (r *Reservations) List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	if err := check(w); err != nil {
		return reservation.List{}, err
	}
	p, err := planOf(fields)
	if err != nil {
		return reservation.List{}, err
	}
	all, err := r.db.selection(q)
	if err != nil {
		return reservation.List{}, err
	}
	list := reservation.List{Total: -1}
	if all.scope.none {
		if withTotal {
			list.Total = 0
		}
		return list, nil
	}
	if withTotal {
		if list.Total, err = r.total(ctx, all); err != nil {
			return reservation.List{}, err
		}
	}
	at, err := r.from(ctx, all, w, list.Total)
	if err != nil {
		return reservation.List{}, err
	}
	list.Rows, err = r.rowsOf(ctx, p, at)
	if err == nil && len(list.Rows) == 0 && w.After != nil {
		err = r.stillThere(ctx, all.scope, *w.After)
	}
	if err != nil {
		return reservation.List{}, err
	}
	if withTotal && len(list.Rows) > 0 { // more may have come since they were counted
		list.Total = max(list.Total, w.Offset+int64(len(list.Rows)))
	}
	return list, nil
}

// rowsOf reads the rows of the stretch.
func (r *Reservations) rowsOf(ctx context.Context, p plan, at stretch) ([]table.Row, error) {
	if at.take == 0 {
		return nil, nil
	}
	g := newPage(p, at.take)
	query, args := at.page(p.main.selectList("r", g.refs))
	if err := g.readMain(ctx, r.db, query, args...); err != nil {
		return nil, err
	}
	return g.rows, g.readParts(ctx, r.db)
}

func check(w reservation.Window) error {
	var detail string
	switch {
	case w.Limit < 1 || w.Limit > reservation.MaxListLimit:
		detail = fmt.Sprintf("a limit of %d is not from 1 to %d", w.Limit, reservation.MaxListLimit)
	case w.Offset < 0:
		detail = "an offset is not negative"
	case w.Offset > 0 && w.After != nil:
		detail = "an offset and a row to go on after exclude each other"
	default:
		return nil
	}
	return fault.InvalidFields("The window is not valid.", fault.Field{Name: "window", Detail: detail})
}

// stillThere tells the end of the list from a cursor whose row is gone; the
// page's statement finds nothing in either case.
func (r *Reservations) stillThere(ctx context.Context, scope within, id int64) error {
	n, err := r.count(ctx, "SELECT COUNT(*) FROM reservations WHERE id = ?"+scope.and(mainTable), id)
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "Reservation %d, after which the list was to go on, is gone. Please start again.", id)
	}
	return err
}

func (r *Reservations) count(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = r.db.gorm.WithContext(ctx).Raw(query, args...).Row().Scan(&n)
	return n, mapError(ctx, "count reservations", err)
}
