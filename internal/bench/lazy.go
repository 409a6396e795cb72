package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"rowmill/access"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// lazyStore reads as an ORM with lazy relations does: a page of the main table,
// then for each of its rows one query for every part and look-up, all columns of
// each. It is the story's beginning, and nobody but the bench has it.
type lazyStore struct {
	reservation.Store // the product's, for the snapshot
	db                *sql.DB
}

// relation is where a part lies, and which column of the reservation leads to it.
type relation struct{ table, key, from string }

var relations = map[reservation.Part]relation{
	reservation.PartProperty:  {"properties", "id", "property_id"},
	reservation.PartProduct:   {"products", "id", "product_id"},
	reservation.PartChannel:   {"channels", "id", "channel_id"},
	reservation.PartAgent:     {"agents", "id", "agent_id"},
	reservation.PartGuest:     {"guests", "reservation_id", "id"},
	reservation.PartPayment:   {"payments", "reservation_id", "id"},
	reservation.PartCancel:    {"cancellations", "reservation_id", "id"},
	reservation.PartStay:      {"stays", "reservation_id", "id"},
	reservation.PartCouponUse: {"coupon_uses", "reservation_id", "id"},
}

// record is a row as an object mapper holds it.
type record map[string]any

// Batch implements reservation.Store. The bench sees all rows.
func (s lazyStore) Batch(ctx context.Context, _ access.Scope, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
	var list strings.Builder
	for i, id := range ids {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(strconv.FormatInt(id, 10))
	}
	found, err := s.records(ctx, "SELECT * FROM reservations WHERE id IN ("+list.String()+")")
	if err != nil {
		return reservation.Batch{}, err
	}
	byID := make(map[int64]record, len(found))
	for _, r := range found {
		id, err := wholeNumber(r["id"])
		if err != nil {
			return reservation.Batch{}, err
		}
		byID[id] = r
	}
	var b reservation.Batch
	for _, id := range ids {
		main, ok := byID[id]
		if !ok {
			b.Absent = append(b.Absent, id)
			continue
		}
		values, err := s.row(ctx, main, fields)
		if err != nil {
			return reservation.Batch{}, fmt.Errorf("reservation %d: %w", id, err)
		}
		b.Rows = append(b.Rows, table.Row{Key: id, Values: values})
	}
	return b, nil
}

// row reads a relation when the first of its fields is touched.
func (s lazyStore) row(ctx context.Context, main record, fields []reservation.Field) ([]table.Value, error) {
	parts := map[reservation.Part]record{reservation.Main: main}
	values := make([]table.Value, len(fields))
	for i, f := range fields {
		part, loaded := parts[f.Part]
		if !loaded {
			var err error
			if part, err = s.related(ctx, main, relations[f.Part]); err != nil {
				return nil, err
			}
			parts[f.Part] = part
		}
		var err error
		if values[i], err = valueOf(f, part[f.Column]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// related reads what the reservation points to; nothing if it points nowhere.
func (s lazyStore) related(ctx context.Context, main record, r relation) (record, error) {
	key := main[r.from]
	if key == nil {
		return nil, nil
	}
	found, err := s.records(ctx, "SELECT * FROM "+r.table+" WHERE "+r.key+" = ?", key)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func (s lazyStore) records(ctx context.Context, query string, args ...any) ([]record, error) {
	telemetry.StatementSent(ctx)
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var found []record
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r := make(record, len(columns))
		for i, name := range columns {
			r[name] = values[i]
		}
		found = append(found, r)
	}
	return found, rows.Err()
}
