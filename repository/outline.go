package repository

import (
	"context"
	"fmt"
	"time"
)

// outline is the shape of a long list: how many rows it has and each
// stride-th of them, so that a page anywhere starts a few rows behind a known
// one. It is made by one pass over an index and is true as of that pass.
type outline struct {
	total   int64
	stride  int64
	anchors []anchor // the i-th is the row before the place (i+1)*stride
}

// anchor is a row by its place in an order.
type anchor struct {
	value string // of the sort's column, as the engine writes it
	id    int64
}

// add puts the next row behind the others. When more than limit rows are kept,
// every other one goes, so that memory does not grow with the list.
func (o *outline) add(limit int, id int64, value *rawText) {
	o.total++
	if o.total%o.stride != 0 {
		return
	}
	a := anchor{id: id}
	if n := len(o.anchors); n > 0 && o.anchors[n-1].value == string(value.bytes) {
		a.value = o.anchors[n-1].value // columns repeat themselves
	} else {
		a.value = string(value.bytes)
	}
	if o.anchors = append(o.anchors, a); len(o.anchors) <= limit {
		return
	}
	o.stride *= 2
	half := o.anchors[:0]
	for i := 1; i < len(o.anchors); i += 2 {
		half = append(half, o.anchors[i])
	}
	clear(o.anchors[len(half):])
	o.anchors = half
}

// before gives the last anchor that lies before the place, and the rows between
// the two; nil if there is none.
func (o *outline) before(offset int64) (a *anchor, skip int64) {
	n := min(offset/o.stride, int64(len(o.anchors)))
	if n == 0 {
		return nil, offset
	}
	return &o.anchors[n-1], offset - n*o.stride
}

// rawText scans a text without a copy; it is good until the next row.
type rawText struct{ bytes []byte }

// Scan implements sql.Scanner.
func (r *rawText) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		r.bytes = v
	case string:
		r.bytes = append(r.bytes[:0], v...)
	default:
		return fmt.Errorf("a column to sort by holds a %T", src)
	}
	return nil
}

// outlineOf gives the list's outline, no older than listAge. One is made at a
// time, so that many who page deep at once cost the database one pass and not many.
func (r *Reservations) outlineOf(ctx context.Context, s selection) (*outline, error) {
	k := s.key(true)
	if o, ok := r.outlines.look(k); ok {
		return o, nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, mapError(ctx, "wait to read the list", ctx.Err())
	}
	if o, ok := r.outlines.look(k); ok { // made while this call waited
		return o, nil
	}
	at := r.now()
	o, err := r.pass(ctx, s)
	if err == nil && o.total > r.size.long {
		r.outlines.put(k, at, o)
		r.keepTotal(s.key(false), at, o.total)
	}
	return o, err
}

// pass reads the list once from an index, keeping what outline.add keeps. A
// window function would leave fewer rows to read, but MariaDB sorts them all for it.
func (r *Reservations) pass(ctx context.Context, s selection) (o *outline, err error) {
	query := "SELECT reservations.id, CAST(reservations." + s.sort + " AS CHAR) FROM reservations" + s.where() + s.order(mainTable)
	rows, err := r.db.rows(ctx, query, s.args...)
	if err != nil {
		return nil, mapError(ctx, "outline the list", err)
	}
	defer rows.Close()
	o = &outline{stride: r.size.stride}
	var id key
	var value rawText
	for rows.Next() {
		if err := rows.Scan(&id, &value); err != nil {
			return nil, mapError(ctx, "outline the list", err)
		}
		o.add(r.size.anchors, id.id, &value)
	}
	return o, mapError(ctx, "outline the list", rows.Err())
}

// total counts the rows of the list: a short one's each time, a long one's at
// most once in listAge.
func (r *Reservations) total(ctx context.Context, s selection) (int64, error) {
	k := s.key(false)
	if n, ok := r.totals.look(k); ok {
		return n, nil
	}
	at := r.now()
	n, err := r.count(ctx, "SELECT COUNT(*) FROM reservations"+s.where(), s.args...)
	if err == nil {
		r.keepTotal(k, at, n)
	}
	return n, err
}

func (r *Reservations) keepTotal(k listKey, at time.Time, n int64) {
	if n > r.size.long {
		r.totals.put(k, at, n)
	} else {
		r.totals.drop(k)
	}
}
