package repository

import (
	"context"
	"fmt"
	"slices"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// List implements reservation.Store. The ids of the page come from an index
// alone, and only they are looked up, so that a deep offset skips index entries
// and not rows. A window after a row that is gone is a Conflict, as its place
// in the order went with it.
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
	g := newPage(p, w.Limit)
	query, args := pageOf(p.main.selectList("r", g.refs), all, w)
	if err := g.readMain(ctx, r.db, query, args...); err != nil {
		return reservation.List{}, err
	}
	if len(g.rows) == 0 && w.After != nil {
		if err := r.stillThere(ctx, *w.After); err != nil {
			return reservation.List{}, err
		}
	}
	if err := g.readParts(ctx, r.db); err != nil {
		return reservation.List{}, err
	}
	list := reservation.List{Rows: g.rows, Total: -1}
	if withTotal {
		list.Total, err = r.count(ctx, "SELECT COUNT(*) FROM reservations"+all.where(), all.args...)
	}
	return list, err
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

// pageOf joins the main table to the ids of the window. The outer order sorts
// no more than the window's rows.
func pageOf(selectList string, s selection, w reservation.Window) (string, []any) {
	if w.After != nil {
		s = s.after(*w.After)
	}
	query := selectList + " FROM reservations r JOIN (SELECT reservations.id FROM reservations" +
		s.where() + s.order(mainTable) + " LIMIT ? OFFSET ?) p ON r.id = p.id" + s.order("r")
	return query, append(slices.Clip(s.args), w.Limit, w.Offset)
}

// stillThere tells the end of the list from a cursor whose row is gone; the
// page's statement finds nothing in either case.
func (r *Reservations) stillThere(ctx context.Context, id int64) error {
	n, err := r.count(ctx, "SELECT COUNT(*) FROM reservations WHERE id = ?", id)
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "Reservation %d, after which the list was to go on, is gone. Please start again.", id)
	}
	return err
}

func (r *Reservations) count(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = r.db.gorm.WithContext(ctx).Raw(query, args...).Row().Scan(&n)
	return n, mapError(ctx, "count reservations", err)
}
