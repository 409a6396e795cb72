package repository

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

const mainTable = "reservations"

// A place is where a part lies. A one-to-one part is keyed by reservation_id; a
// look-up is keyed by its id, which the reservation's ref column holds.
type place struct{ table, key, ref string }

var places = map[reservation.Part]place{
	reservation.PartProperty:  {"properties", "id", "property_id"},
	reservation.PartProduct:   {"products", "id", "product_id"},
	reservation.PartChannel:   {"channels", "id", "channel_id"},
	reservation.PartAgent:     {"agents", "id", "agent_id"},
	reservation.PartGuest:     {"guests", "reservation_id", ""},
	reservation.PartPayment:   {"payments", "reservation_id", ""},
	reservation.PartCancel:    {"cancellations", "reservation_id", ""},
	reservation.PartStay:      {"stays", "reservation_id", ""},
	reservation.PartCouponUse: {"coupon_uses", "reservation_id", ""},
}

// plan says which columns a page reads from which table, and where in a row
// each value goes. Each step is one statement.
type plan struct {
	width int // values of a row
	main  step
	parts []step
}

type step struct {
	place
	columns []string
	cells   []cell // how to scan them; copied for each read
	slots   []int  // of a row
}

// planOf checks the fields against the catalog, as their columns become SQL.
func planOf(fields []reservation.Field) (plan, error) {
	p := plan{width: len(fields), main: step{place: place{mainTable, "id", ""}}}
	at := map[reservation.Part]int{}
	for slot, asked := range fields {
		f, ok := reservation.FieldOf(asked.Key)
		if !ok {
			return plan{}, fault.InvalidFields("The fields are not valid.",
				fault.Field{Name: "fields", Detail: fmt.Sprintf("there is no field %q", asked.Key)})
		}
		if f.Computed() { // stays NULL, for who fills it
			continue
		}
		s := &p.main
		if f.Part != reservation.Main {
			i, seen := at[f.Part]
			if !seen {
				i = len(p.parts)
				at[f.Part] = i
				p.parts = append(p.parts, step{place: places[f.Part]})
			}
			s = &p.parts[i]
		}
		s.columns = append(s.columns, f.Column)
		s.cells = append(s.cells, cell{typ: f.Type, scale: f.Scale})
		s.slots = append(s.slots, slot)
	}
	return p, nil
}

// refs are the main table's columns that lead to the asked look-ups.
func (p plan) refs() (refs []string) {
	for _, s := range p.parts {
		if s.ref != "" {
			refs = append(refs, s.ref)
		}
	}
	return refs
}

// selectList names key, refs and columns, each of the table t.
func (s step) selectList(t string, refs []string) string {
	var b strings.Builder
	b.WriteString("SELECT " + t + "." + s.key)
	for _, c := range refs {
		b.WriteString(", " + t + "." + c)
	}
	for _, c := range s.columns {
		b.WriteString(", " + t + "." + c)
	}
	return b.String()
}

// At 1,000 values in one list (in_predicate_conversion_threshold) MariaDB makes
// a table of it and may then read the whole other table to join them; shorter
// lists in a row stay ranges of the primary key.
const maxInList = 900

// dense is how many keys a range may span for each one that is asked. One range is
// read in half the time of as many look-ups; a row in five that nobody asked for
// costs less than that.
const dense = 1.25

// byKeys selects the step's rows of the ids by the primary key, which MySQL is
// told to use, as it overrates a scan beside thousands of ranges. Where the ids lie
// close, it selects their whole range, and the caller drops the others. The ids are
// written out and not bound: numbers cannot break out, no engine's bound on
// placeholders applies, and neither gorm nor the driver copies thousands of
// arguments.
func (d *DB) byKeys(s step, refs []string, ids []int64) string {
	head := s.selectList(s.table, refs) + " FROM " + s.table
	if !d.sqlite {
		head += " FORCE INDEX (PRIMARY)"
	}
	lo, hi := slices.Min(ids), slices.Max(ids)
	if span := uint64(hi) - uint64(lo); float64(span) < dense*float64(len(ids)) { // unsigned, it cannot overflow
		return fmt.Sprintf("%s WHERE %s.%s BETWEEN %d AND %d", head, s.table, s.key, lo, hi)
	}
	b := make([]byte, 0, len(head)+len(ids)*12)
	return string(appendIn(append(append(b, head...), " WHERE "...), s.table+"."+s.key, ids))
}

// appendIn writes that the column has one of the ids: in one list, or in several
// within parentheses.
func appendIn(b []byte, column string, ids []int64) []byte {
	if len(ids) > maxInList {
		b = append(b, '(')
	}
	in := column + " IN ("
	b = append(b, in...)
	for i, id := range ids {
		switch {
		case i == 0:
		case i%maxInList == 0:
			b = append(append(b, ") OR "...), in...)
		default:
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	if b = append(b, ')'); len(ids) > maxInList {
		b = append(b, ')')
	}
	return b
}
