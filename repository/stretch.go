package repository

import (
	"context"
	"slices"

	"rowmill/reservation"
)

// stretch is a run of rows as they are to be read: take of them, skip rows
// behind the selection's first, or, from the end, before its last.
type stretch struct {
	rows    selection
	skip    int64
	take    int
	fromEnd bool
}

// from finds the nearest place to read the window from, so that no page walks
// over more than size.long entries of an index: the start, the end where the
// total is known, or else the anchor before it. Only the last may be of a while
// ago. A window past the end is read from nowhere.
func (r *Reservations) from(ctx context.Context, s selection, w reservation.Window, total int64) (stretch, error) {
	switch {
	case w.After != nil:
		return stretch{rows: s.after(*w.After), take: w.Limit}, nil
	case w.Offset <= r.size.long:
		return stretch{rows: s, skip: w.Offset, take: w.Limit}, nil
	}
	known := total >= 0
	if !known {
		total, known = r.totals.look(s.key(false))
	}
	if known {
		take := min(int64(w.Limit), max(0, total-w.Offset))
		if tail := total - w.Offset - take; tail <= r.size.long {
			return stretch{rows: s, skip: max(0, tail), take: int(take), fromEnd: true}, nil
		}
	}
	o, err := r.outlineOf(ctx, s)
	if err != nil || w.Offset >= o.total {
		return stretch{}, err
	}
	a, skip := o.before(w.Offset)
	if a != nil {
		s = s.behind(*a)
	}
	return stretch{rows: s, skip: skip, take: w.Limit}, nil
}

// page joins the main table to the ids of the stretch. The outer order sorts no
// more than the rows taken.
func (t stretch) page(selectList string) (string, []any) {
	ids := t.rows
	if t.fromEnd {
		ids = ids.reversed()
	}
	query := selectList + " FROM reservations r JOIN (SELECT reservations.id FROM reservations" +
		ids.where() + ids.order(mainTable) + " LIMIT ? OFFSET ?) p ON r.id = p.id" + t.rows.order("r")
	return query, append(slices.Clip(ids.args), t.take, t.skip)
}
