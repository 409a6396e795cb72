package repository

import (
	"slices"
	"strings"
	"unicode/utf8"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// nullable are the main table's columns that may be NULL. The others are never
// asked for NULL: MySQL holds that a zero date in a NOT NULL column IS NULL.
var nullable = map[string]bool{"agent_id": true, "company": true, "memo": true}

// condition gives a term over the main table. A condition on a part is a
// condition on the ids that the part's table has, never a join: a join could
// double rows and would take the order away from the index.
func (d *DB) condition(c reservation.Condition) (string, []any, error) {
	f, ok := reservation.FieldOf(c.Field)
	if !ok || f.Computed() {
		return "", nil, refuse(c, "there is no such field to select by")
	}
	args, err := bindAll(f, c)
	if err != nil {
		return "", nil, err
	}
	negative := c.Op == reservation.NotIn || c.Op == reservation.IsNull && c.Values[0].Bool()
	at := places[f.Part]
	if f.Part == reservation.Main {
		at.table = mainTable
	}
	column := at.table + "." + f.Column
	term, args, err := d.positive(c, f.Type, column, args)
	if err != nil {
		return "", nil, err
	}
	if f.Part == reservation.Main {
		return ofMain(c, f.Column, term, negative), args, nil
	}
	outer := "reservations.id"
	if at.ref != "" {
		outer = "reservations." + at.ref
	}
	within := "IN (SELECT " + at.table + "." + at.key + " FROM " + at.table + " WHERE " + term + ")"
	switch {
	case !negative:
		return outer + " " + within, args, nil
	case nullable[at.ref]:
		return "(" + outer + " IS NULL OR " + outer + " NOT " + within + ")", args, nil
	}
	return outer + " NOT " + within, args, nil
}

// ofMain negates a term where asked, NULL being different from every value.
func ofMain(c reservation.Condition, column, term string, negative bool) string {
	if c.Op == reservation.IsNull && !nullable[column] {
		if negative {
			return "1 = 0"
		}
		return "1 = 1"
	}
	switch {
	case !negative:
		return term
	case c.Op == reservation.IsNull:
		return "reservations." + column + " IS NULL"
	case nullable[column]:
		return "(reservations." + column + " IS NULL OR NOT " + term + ")"
	}
	return "NOT " + term
}

// positive gives the term that is true of the rows whose column has one of the
// values, lies in the range or, for IsNull, is not NULL.
func (d *DB) positive(c reservation.Condition, t table.Type, column string, args []any) (string, []any, error) {
	switch c.Op {
	case reservation.Equal, reservation.NotIn:
		if len(args) == 0 {
			return "(1 = 0)", nil, nil
		}
		in := " IN (" + strings.Repeat("?, ", len(args)-1) + "?)"
		if !d.sqlite && (t == table.Text || t == table.Code) {
			// utf8mb4_bin takes 'a' and 'a ' for equal; their bytes are not.
			return "(" + column + in + " AND CAST(" + column + " AS BINARY)" + in + ")", append(slices.Clip(args), args...), nil
		}
		return "(" + column + in + ")", args, nil
	case reservation.AtLeast:
		return column + " >= ?", args, nil
	case reservation.AtMost:
		return column + " <= ?", args, nil
	case reservation.Prefix:
		return startsWith(column), args, nil
	case reservation.IsNull:
		return column + " IS NOT NULL", nil, nil
	}
	return "", nil, refuse(c, "there is no such operator")
}

func startsWith(column string) string { return column + " LIKE ? ESCAPE '!'" }

var likeEscapes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

func prefixPattern(s string) string { return likeEscapes.Replace(s) + "%" }

// search finds the rows whose code or, where names are seen, guest's name starts
// with the text. The union is wrapped once more, or MariaDB would run it again for
// each row.
func search(text string, names bool) (string, []any, error) {
	if !utf8.ValidString(text) {
		return "", nil, refuse(reservation.Condition{Field: "q"}, "is not UTF-8")
	}
	p := prefixPattern(text)
	if !names {
		return startsWith("reservations.code"), []any{p}, nil
	}
	return "reservations.id IN (SELECT found.id FROM (SELECT m.id AS id FROM reservations m WHERE " + startsWith("m.code") +
		" UNION ALL SELECT g.reservation_id FROM guests g WHERE " + startsWith("g.name") + ") found)", []any{p, p}, nil
}

func refuse(c reservation.Condition, detail string) error {
	return fault.InvalidFields("The filter is not valid.", fault.Field{Name: c.Field, Detail: detail})
}

// bindAll checks the condition's values and gives them as the columns keep them.
func bindAll(f reservation.Field, c reservation.Condition) ([]any, error) {
	typ := f.Type
	switch c.Op {
	case reservation.Equal, reservation.NotIn:
		if len(c.Values) > reservation.MaxValues {
			return nil, refuse(c, "has too many values")
		}
	case reservation.Prefix:
		if typ != table.Text && typ != table.Code {
			return nil, refuse(c, "is not a text")
		}
		fallthrough
	default:
		if len(c.Values) != 1 {
			return nil, refuse(c, "takes one value")
		}
	}
	if c.Op == reservation.IsNull {
		typ = table.Bool
	}
	args := make([]any, len(c.Values))
	for i, v := range c.Values {
		bound, ok := bind(v, typ, f.Scale)
		if !ok {
			return nil, refuse(c, "a value is not a "+typ.String())
		}
		if text, isText := bound.(string); isText && c.Op == reservation.Prefix {
			bound = prefixPattern(text)
		}
		args[i] = bound
	}
	return args, nil
}

// bind gives a value as a column of the type keeps it.
func bind(v table.Value, t table.Type, scale uint8) (any, bool) {
	switch t {
	case table.Text, table.Code:
		return v.Text(), v.Kind() == table.KindText && utf8.ValidString(v.Text())
	case table.Integer:
		return v.Integer(), v.Kind() == table.KindInteger
	case table.Decimal:
		n, have, fits := v.Decimal()
		return n, v.Kind() == table.KindDecimal && fits && have == scale
	case table.Date:
		return v.AsTime().Format(dayLayout), v.Kind() == table.KindDate
	case table.Time:
		return moment{v.AsTime()}, v.Kind() == table.KindTime
	case table.Bool:
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		return n, v.Kind() == table.KindBool
	}
	return nil, false
}
