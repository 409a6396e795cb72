package reservation

import (
	"context"
	"time"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// MaxBatch is the most ids that one batch may ask: under MySQL's 65,535 and
// SQLite's 32,766 placeholders, and a page that a worker can hold many of.
const MaxBatch = 5000

// MaxListLimit is the most rows of one list page.
const MaxListLimit = 5000

// A list of more than LongList rows is long. Where its parts are and how many it
// has is costly to find out, so stores may remember both, for at most
// LongListAge. Walking over that many entries of an index takes milliseconds.
const (
	LongList    = 10_000
	LongListAge = 30 * time.Second
)

// Query is which reservations, in which order, and what of them is seen.
type Query struct {
	Filter Filter
	Sort   Sort
	Scope  access.Scope
}

// Batch is the answer to a batch of ids: the rows in the order asked, and the
// ids that no longer exist. Every asked id is in exactly one of the two.
type Batch struct {
	Rows   []table.Row
	Absent []int64
}

// Window is a part of a list: from a place (Offset) or after a row (After, that
// row's id). Limit is 1 to MaxListLimit.
//
// A window is a run of neighbours: within it no row is skipped or comes twice.
// Up to the place LongList, Offset is counted as the window is read. Further on
// a store may count it from rows whose place it knows, which is at most
// LongListAge old: rows that came or went before the window since then move it
// by as many. A caller to whom each row matters goes on with After, or takes a
// snapshot.
type Window struct {
	Offset int64
	After  *int64
	Limit  int
}

// List is a page of a list.
type List struct {
	Rows []table.Row
	// Total is of all matching rows; -1 if it was not asked. Up to LongList it
	// was counted for this call; a larger one may be LongListAge old.
	Total int64
}

// Snapshot is the end of a stream of ids: when they were read and how many they were.
type Snapshot struct {
	At    time.Time
	Total int64
}

// Store reads reservations. Its statements do not grow with the rows asked. It
// keeps to a scope's properties and, without Personal, searches the codes alone;
// the values themselves it gives as they are: masking is the reader's. Computed fields
// it may leave NULL, for who fills them.
type Store interface {
	// Snapshot calls each with the ids that match, in order, a run at a time,
	// all from one consistent read. The run is each's only until it returns.
	Snapshot(ctx context.Context, q Query, each func(ids []int64) error) (Snapshot, error)
	// Batch reads the fields of up to MaxBatch ids; a repeated id is an error. A
	// row outside of the scope's properties is absent.
	Batch(ctx context.Context, scope access.Scope, ids []int64, fields []Field) (Batch, error)
	// List reads a page; withTotal also counts the matching rows.
	List(ctx context.Context, q Query, w Window, fields []Field, withTotal bool) (List, error)
}

// FieldsOf gives the fields with the keys, or an error that names each unknown
// or repeated one. No keys are an error too.
func FieldsOf(keys []string) ([]Field, error) {
	var wrong []fault.Field
	seen := make(map[string]bool, len(keys))
	fields := make([]Field, 0, len(keys))
	for _, key := range keys {
		f, ok := FieldOf(key)
		switch {
		case !ok:
			wrong = append(wrong, fault.Field{Name: "fields", Detail: "there is no field \"" + key + "\""})
		case seen[key]:
			wrong = append(wrong, fault.Field{Name: "fields", Detail: "field \"" + key + "\" is asked twice"})
		default:
			fields = append(fields, f)
		}
		seen[key] = true
	}
	if len(keys) == 0 {
		wrong = append(wrong, fault.Field{Name: "fields", Detail: "name at least one field"})
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields("The fields are not valid.", wrong...)
	}
	return fields, nil
}
