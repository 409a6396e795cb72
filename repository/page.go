package repository

import (
	"context"
	"maps"
	"slices"

	"rowmill/internal/table"
)

// page is a run of rows while its statements fill it: one slab of values for
// all of them, and each row's place by its id.
type page struct {
	plan  plan
	refs  []string // columns of the main table
	rows  []table.Row
	found []bool        // by place: the main table has the row
	place map[int64]int // by id
	slab  []table.Value
	keys  [][]key // by ref, then by place
	full  bool    // every row has its place: others were not asked
}

func newPage(p plan, capacity int) *page {
	g := &page{plan: p, refs: p.refs(), place: make(map[int64]int, capacity)}
	g.rows = make([]table.Row, 0, capacity)
	g.found = make([]bool, 0, capacity)
	g.slab = make([]table.Value, capacity*p.width)
	g.keys = make([][]key, len(g.refs))
	for i := range g.keys {
		g.keys[i] = make([]key, capacity)
	}
	return g
}

// add gives the id the next place; false if it has one.
func (g *page) add(id int64) bool {
	at := len(g.rows)
	if _, had := g.place[id]; had {
		return false
	}
	g.place[id] = at
	w := g.plan.width
	g.rows = append(g.rows, table.Row{Key: id, Values: g.slab[at*w : (at+1)*w : (at+1)*w]})
	g.found = append(g.found, false)
	return true
}

// ids are those of the places that were found.
func (g *page) ids() []int64 {
	ids := make([]int64, 0, len(g.rows))
	for i, row := range g.rows {
		if g.found[i] {
			ids = append(ids, row.Key)
		}
	}
	return ids
}

// readMain runs a query of the main table's columns. Rows without a place get
// the next one, in the order they come, unless the page is full.
func (g *page) readMain(ctx context.Context, d *DB, query string, args ...any) error {
	keys := make([]key, len(g.refs))
	return g.plan.main.read(ctx, d, query, args, keys, func(id int64, values []cell) {
		at, asked := g.place[id]
		if !asked {
			if g.full {
				return
			}
			at = len(g.rows)
			g.add(id)
		}
		g.found[at] = true
		for i, k := range keys {
			g.keys[i][at] = k
		}
		g.set(at, g.plan.main, values)
	})
}

func (g *page) set(at int, s step, values []cell) {
	row := g.rows[at].Values
	for i, slot := range s.slots {
		row[slot] = values[i].value
	}
}

// readParts fills in the parts: one statement each, none for one that no row has.
func (g *page) readParts(ctx context.Context, d *DB) error {
	ids, ref := g.ids(), 0
	for _, s := range g.plan.parts {
		if s.ref != "" {
			if err := g.readLookup(ctx, d, s, g.keys[ref]); err != nil {
				return err
			}
			ref++
			continue
		}
		if len(ids) == 0 {
			continue
		}
		err := s.read(ctx, d, d.byKeys(s, nil, ids), nil, nil, func(id int64, values []cell) {
			if at, asked := g.place[id]; asked {
				g.set(at, s, values)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readLookup reads each distinct row that the page refers to once.
func (g *page) readLookup(ctx context.Context, d *DB, s step, keys []key) error {
	users := make(map[int64][]int)
	for at := range g.rows {
		if g.found[at] && keys[at].valid {
			users[keys[at].id] = append(users[keys[at].id], at)
		}
	}
	if len(users) == 0 {
		return nil
	}
	query := d.byKeys(s, nil, slices.Sorted(maps.Keys(users)))
	return s.read(ctx, d, query, nil, nil, func(id int64, values []cell) {
		for _, at := range users[id] {
			g.set(at, s, values)
		}
	})
}

// read runs the query and calls each with every row's id; what it scanned is
// in keys and in values until the next row.
func (s step) read(ctx context.Context, d *DB, query string, args []any, keys []key, each func(id int64, values []cell)) (err error) {
	rows, err := d.rows(ctx, query, args...)
	if err != nil {
		return mapError(ctx, "read "+s.table, err)
	}
	defer rows.Close()
	var id key
	values := slices.Clone(s.cells)
	into := make([]any, 0, 1+len(keys)+len(values))
	into = append(into, &id)
	for i := range keys {
		into = append(into, &keys[i])
	}
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return mapError(ctx, "read "+s.table, err)
		}
		each(id.id, values)
	}
	return mapError(ctx, "read "+s.table, rows.Err())
}
