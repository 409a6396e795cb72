package repository

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

// Reservations reads reservations. It implements reservation.Store.
//
// A page costs one statement for the main table and one for each part or
// look-up that the asked fields are in, whatever its size; look-ups that no row
// of the page refers to cost none. The statements that say where in a long list
// a page lies come on top once in a while, as reservation.Window tells.
type Reservations struct {
	db       *DB
	now      func() time.Time
	size     listSize
	outlines *memo[*outline]
	totals   *memo[int64]
	turn     chan struct{} // held while an outline is made
}

// listSize says from when on a list is long, and how much of a long one is kept.
type listSize struct {
	long    int64 // rows; see reservation.LongList
	stride  int64 // rows from one anchor to the next, at first
	anchors int   // of an outline, at most
}

const (
	// Of a million rows each hundredth is kept, so that a page skips 99 at most.
	// An outline is then of 300 kB, or 600 if no value repeats itself.
	anchorStride = 100
	maxAnchors   = 10_000
	// maxOutlines of that size are ten megabytes; a total is 100 bytes.
	maxOutlines = 16
	maxTotals   = 1000
)

// NewReservations gives the reservations of the database.
func NewReservations(db *DB) *Reservations {
	return newReservations(db, listSize{reservation.LongList, anchorStride, maxAnchors}, time.Now)
}

func newReservations(db *DB, size listSize, now func() time.Time) *Reservations {
	return &Reservations{
		db: db, now: now, size: size, turn: make(chan struct{}, 1),
		outlines: newMemo[*outline](maxOutlines, reservation.LongListAge, now),
		totals:   newMemo[int64](maxTotals, reservation.LongListAge, now),
	}
}

// snapshotRun is how many ids a snapshot hands over at a time: few enough to
// stay in a processor's cache, many enough that the call costs nothing.
const snapshotRun = 1000

// Snapshot implements reservation.Store by one statement over an index that
// holds all it needs. An error of each ends it and is returned as it is.
func (r *Reservations) Snapshot(ctx context.Context, q reservation.Query, each func(ids []int64) error) (reservation.Snapshot, error) {
	s, err := r.db.selection(q)
	if err != nil {
		return reservation.Snapshot{}, err
	}
	snapshot := reservation.Snapshot{At: time.Now().UTC().Truncate(time.Microsecond)}
	if s.scope.none {
		return snapshot, nil
	}
	rows, err := r.db.rows(ctx, "SELECT reservations.id FROM reservations"+s.where()+s.order(mainTable), s.args...)
	if err != nil {
		return reservation.Snapshot{}, mapError(ctx, "take a snapshot", err)
	}
	defer rows.Close()
	run := make([]int64, 0, snapshotRun)
	give := func() error {
		// Rows that the driver holds already would outlive the context.
		if err := ctx.Err(); err != nil || len(run) == 0 {
			return mapError(ctx, "take a snapshot", err)
		}
		snapshot.Total += int64(len(run))
		err := each(run)
		run = run[:0]
		return err
	}
	var id key
	for rows.Next() {
		if err := rows.Scan(&id); err != nil {
			return reservation.Snapshot{}, mapError(ctx, "take a snapshot", err)
		}
		if run = append(run, id.id); len(run) < snapshotRun {
			continue
		}
		if err := give(); err != nil {
			return reservation.Snapshot{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return reservation.Snapshot{}, mapError(ctx, "take a snapshot", err)
	}
	if err := give(); err != nil {
		return reservation.Snapshot{}, err
	}
	return snapshot, nil
}

// Batch implements reservation.Store. Too many ids or properties and repeated ids
// are Invalid.
func (r *Reservations) Batch(ctx context.Context, scope access.Scope, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
	if len(ids) > reservation.MaxBatch {
		return reservation.Batch{}, fault.InvalidFields("The batch is too big.",
			fault.Field{Name: "ids", Detail: fmt.Sprintf("has %d ids, %d are allowed", len(ids), reservation.MaxBatch)})
	}
	p, err := planOf(fields)
	if err = cmp.Or(err, reservation.CheckScope(scope)); err != nil || len(ids) == 0 {
		return reservation.Batch{}, err
	}
	g := newPage(p, len(ids))
	for _, id := range ids {
		if !g.add(id) {
			return reservation.Batch{}, fault.InvalidFields("The batch is not valid.",
				fault.Field{Name: "ids", Detail: fmt.Sprintf("id %d is asked twice", id)})
		}
	}
	g.full = true
	if w := withinOf(scope); !w.none {
		if err := g.readMain(ctx, r.db, r.db.byKeys(p.main, g.refs, ids)+w.and(mainTable)); err != nil {
			return reservation.Batch{}, err
		}
		if err := g.readParts(ctx, r.db); err != nil {
			return reservation.Batch{}, err
		}
	}
	var b reservation.Batch
	for i, row := range g.rows {
		if g.found[i] {
			b.Rows = append(b.Rows, row)
		} else {
			b.Absent = append(b.Absent, row.Key)
		}
	}
	return b, nil
}
