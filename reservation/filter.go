package reservation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// Op is how a condition compares.
type Op string

const (
	Equal   Op = "eq" // equal to one of the values; "in" where there are several
	NotIn   Op = "ne" // different from each of the values; NULL is different
	AtLeast Op = "gte"
	AtMost  Op = "lte"
	Prefix  Op = "like" // text that starts with the value, compared as the field's collation does
	IsNull  Op = "null" // the value is a bool: NULL or not
)

// Bounds on a filter, so that no caller can make a statement without limit.
const (
	MaxConditions = 50
	MaxValues     = 1000 // of one condition
	MaxAllValues  = 5000 // of all conditions; SQLite takes 32,766 in a statement
	MaxText       = 256  // bytes of one value
	MaxSearch     = 100  // bytes of the search text
)

// Condition is one term of a filter. Values are typed as the field is.
type Condition struct {
	Field  string
	Op     Op
	Values []table.Value
}

// Filter is a conjunction: a reservation matches if every condition holds and,
// where Search is set, its code or its guest's name starts with it. (Its code
// alone, where the query's scope is not personal.)
type Filter struct {
	Conditions []Condition
	Search     string
}

// Sort is an order by one field; the primary key follows in the same direction,
// so that the order is total and one index serves it both ways.
type Sort struct {
	Field string
	Desc  bool
}

// DefaultSort is the order of a list that asks for none.
var DefaultSort = Sort{Field: "id"}

// ParseSort reads a field key and "asc", "desc" or "" (either case).
func ParseSort(field, order string) (Sort, error) {
	if field == "" {
		field = DefaultSort.Field
	}
	f, ok := FieldOf(field)
	if !ok {
		return Sort{}, fault.InvalidFields("The sort is not valid.", fault.Field{Name: "_sort", Detail: fmt.Sprintf("there is no field %q", field)})
	}
	if !f.Sort {
		return Sort{}, fault.InvalidFields("The sort is not valid.", fault.Field{Name: "_sort", Detail: fmt.Sprintf("field %q cannot be sorted by; these can: %s", field, strings.Join(sortable(), ", "))})
	}
	switch strings.ToLower(order) {
	case "", "asc":
		return Sort{Field: field}, nil
	case "desc":
		return Sort{Field: field, Desc: true}, nil
	}
	return Sort{}, fault.InvalidFields("The sort is not valid.", fault.Field{Name: "_order", Detail: fmt.Sprintf("%q is neither asc nor desc", order)})
}

func sortable() (keys []string) {
	for _, f := range catalog {
		if f.Sort {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

var suffixes = []struct {
	text string
	op   Op
}{{"_gte", AtLeast}, {"_lte", AtMost}, {"_ne", NotIn}, {"_like", Prefix}, {"_null", IsNull}}

// ParseFilter reads a filter in json-server's dialect: field=v (repeated: any
// of them), field_ne, field_gte, field_lte, field_like (prefix), field_null
// (true or false) and q. It names every parameter that is wrong. An empty value
// is an empty text, and an error for every other type.
func ParseFilter(params map[string][]string) (Filter, error) {
	var f Filter
	var wrong []fault.Field
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := params[name]
		if len(values) == 0 {
			continue
		}
		if name == "q" {
			f.Search = values[0]
			if len(values) > 1 || len(f.Search) > MaxSearch || !utf8.ValidString(f.Search) {
				wrong = append(wrong, fault.Field{Name: name, Detail: fmt.Sprintf("takes one text of at most %d bytes, in UTF-8", MaxSearch)})
			}
			continue
		}
		c, detail := parseCondition(name, values)
		if detail != "" {
			wrong = append(wrong, fault.Field{Name: name, Detail: detail})
			continue
		}
		f.Conditions = append(f.Conditions, c)
	}
	if len(f.Conditions) > MaxConditions {
		wrong = append(wrong, fault.Field{Name: "filter", Detail: fmt.Sprintf("has %d conditions, %d are allowed", len(f.Conditions), MaxConditions)})
	}
	values := 0
	for _, c := range f.Conditions {
		values += len(c.Values)
	}
	if values > MaxAllValues {
		wrong = append(wrong, fault.Field{Name: "filter", Detail: fmt.Sprintf("has %d values in all its conditions, %d are allowed", values, MaxAllValues)})
	}
	if len(wrong) > 0 {
		return Filter{}, fault.InvalidFields("The filter is not valid.", wrong...)
	}
	return f, nil
}

// parameter gives the field and the operator that a parameter's name means.
func parameter(name string) (field Field, op Op, ok bool) {
	if field, ok = FieldOf(name); ok {
		return field, Equal, true
	}
	for _, s := range suffixes {
		if base, cut := strings.CutSuffix(name, s.text); cut {
			if field, ok = FieldOf(base); ok {
				return field, s.op, true
			}
		}
	}
	return Field{}, "", false
}

func parseCondition(name string, raw []string) (Condition, string) {
	field, op, ok := parameter(name)
	if !ok {
		return Condition{}, unknown(name)
	}
	if detail := field.allows(op); detail != "" {
		return Condition{}, detail
	}
	if len(raw) > MaxValues {
		return Condition{}, fmt.Sprintf("has %d values, %d are allowed", len(raw), MaxValues)
	}
	if op != Equal && op != NotIn && len(raw) > 1 {
		return Condition{}, "takes one value"
	}
	c := Condition{Field: field.Key, Op: op}
	for _, s := range raw {
		t := field.Type
		if op == IsNull {
			t = table.Bool
		}
		v, detail := parseValue(t, field.Scale, s)
		if detail != "" {
			return Condition{}, detail
		}
		c.Values = append(c.Values, v)
	}
	return c, ""
}

func unknown(name string) string {
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if _, ok := FieldOf(name[:i]); ok {
			return fmt.Sprintf("there is no operator %q; there are _ne, _gte, _lte, _like and _null", name[i:])
		}
	}
	return fmt.Sprintf("there is no field %q", name)
}

// Operators gives the operators that a filter may use on the field.
func (f Field) Operators() []Op {
	var ops []Op
	for _, op := range []Op{Equal, NotIn, AtLeast, AtMost, Prefix, IsNull} {
		if f.allows(op) == "" {
			ops = append(ops, op)
		}
	}
	return ops
}

func (f Field) allows(op Op) string {
	if f.Computed() {
		return fmt.Sprintf("field %q is worked out for the rows shown: no rows can be selected by it", f.Key)
	}
	switch op {
	case AtLeast, AtMost:
		switch f.Type {
		case table.Integer, table.Decimal, table.Date, table.Time:
		default:
			return fmt.Sprintf("field %q is %s: a range is for dates and numbers", f.Key, f.Type)
		}
	case Prefix:
		if !f.Prefix {
			return fmt.Sprintf("field %q has no text search; code and guest_name have", f.Key)
		}
	}
	return ""
}

// parseValue reads a value as a caller writes it; detail says what is wrong.
func parseValue(t table.Type, scale uint8, s string) (v table.Value, detail string) {
	if len(s) > MaxText {
		return v, fmt.Sprintf("a value of %d bytes is too long: at most %d", len(s), MaxText)
	}
	var ok bool
	switch t {
	case table.Integer:
		n, err := strconv.ParseInt(s, 10, 64)
		if v, ok = table.IntegerOf(n), err == nil; !ok {
			detail = "a whole number"
		}
	case table.Decimal:
		if v, ok = decimalAt(s, scale); !ok {
			detail = fmt.Sprintf("a decimal number with at most %d places", scale)
		}
	case table.Date:
		if v, ok = table.ParseDate(s); !ok || v.Kind() == table.KindZeroDate {
			ok, detail = false, "a date as 2006-01-02"
		}
	case table.Time:
		at, err := time.Parse(time.RFC3339, s)
		year := at.UTC().Year() // its zone may carry it out of what can be written
		if v, ok = table.TimeOf(at), err == nil && year >= 0 && year <= 9999; !ok {
			detail = "a time as 2006-01-02T15:04:05Z"
		}
	case table.Bool:
		b, err := strconv.ParseBool(s)
		if v, ok = table.BoolOf(b), err == nil; !ok {
			detail = "true or false"
		}
	default:
		if v, ok = table.TextOf(s), utf8.ValidString(s); !ok {
			detail = "text in UTF-8"
		}
	}
	if !ok {
		return table.Value{}, fmt.Sprintf("%q is not %s", s, detail)
	}
	return v, ""
}

// decimalAt reads s and brings it to the scale, exactly or not at all.
func decimalAt(s string, scale uint8) (table.Value, bool) {
	v, ok := table.ParseDecimal(s)
	if !ok {
		return v, false
	}
	n, have, small := v.Decimal()
	if !small || have > scale {
		return v, false
	}
	for ; have < scale; have++ {
		next := n * 10
		if next/10 != n {
			return v, false
		}
		n = next
	}
	return table.DecimalOf(n, scale), true
}

// Params gives the filter in the dialect that ParseFilter reads.
func (f Filter) Params() map[string][]string {
	params := map[string][]string{}
	if f.Search != "" {
		params["q"] = []string{f.Search}
	}
	for _, c := range f.Conditions {
		name := c.Field
		if c.Op != Equal {
			name += "_" + string(c.Op)
		}
		for _, v := range c.Values {
			params[name] = append(params[name], v.String())
		}
	}
	return params
}
