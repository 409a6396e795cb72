package web

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rowmill/access"
	"rowmill/internal/table"
	"rowmill/reservation"
)

func escape(s string) string { return url.QueryEscape(s) }

func isNumber(f reservation.Field) bool { return f.Type == table.Integer || f.Type == table.Decimal }

// fieldCell is a field's value as it is shown to who sees the scope.
func (s speech) fieldCell(f reservation.Field, v table.Value, scope access.Scope) cell {
	c := s.cell(v)
	c.Raw = c.Text
	switch {
	case c.Null:
	case f.Key == "status":
		c.Status, c.Text = true, s.Or("reservation.", c.Text)
	case f.Type == table.Integer && (f.Key == "id" || len(f.Key) > 3 && f.Key[len(f.Key)-3:] == "_id"):
		c.Text = strconv.FormatInt(v.Integer(), 10) // a name, not a quantity
	}
	c.Masked = f.Personal != "" && !scope.Personal && !c.Null
	return c
}

// filterControls are the parameters that have a control of their own, and how
// many values it shows.
var filterControls = map[string]int{
	"q": 1, "property": 1, "channel": 1, "status": 3,
	"check_in_gte": 1, "check_in_lte": 1, "booked_on_gte": 1, "booked_on_lte": 1,
}

// Value gives the value that a filter's control shows.
func (l *listPage) Value(name string) string { return l.state.params.Get(name) }

// Statuses gives the statuses to tick.
func (l *listPage) Statuses() []option {
	var options []option
	for _, s := range []reservation.Status{reservation.CheckedOut, reservation.Canceled, reservation.NoShow} {
		options = append(options, option{Value: string(s), Text: l.speech.Or("reservation.", string(s)), On: slices.Contains(l.state.params["status"], string(s))})
	}
	return options
}

// held are the filters without a control and the state of the list, which a
// sent form must not lose.
func (l *listPage) held() {
	for _, name := range slices.Sorted(maps.Keys(l.state.params)) {
		for i, v := range l.state.params[name] {
			if name == "status" && l.hasStatus(v) || name != "status" && i < filterControls[name] {
				continue
			}
			l.Held = append(l.Held, hidden{name, v})
		}
	}
	own := l.state.values()
	for _, name := range []string{"_fields", "_limit", "_order", "_sort", "personal"} {
		if own.Has(name) {
			l.Held = append(l.Held, hidden{name, own.Get(name)})
		}
	}
}

func (l *listPage) hasStatus(v string) bool {
	return slices.ContainsFunc(l.Statuses(), func(o option) bool { return o.Value == v })
}

// Bounds of the chips: each has the whole address but for one part, so that without
// them a long filter would make a page as long as its square.
const (
	maxChips      = 60
	maxChipValues = 12 // of one parameter; one with more has one chip
)

// chips say the filter in words, each with the way to drop it.
func (l *listPage) chips() {
	left := 0
	for _, name := range slices.Sorted(maps.Keys(l.state.params)) {
		values := l.state.params[name]
		switch {
		case len(l.Chips) >= maxChips:
			left++
		case len(values) > maxChipValues:
			text := l.speech.condition(name, values[:maxChipValues]...) + " … + " + strconv.Itoa(len(values)-maxChipValues)
			l.Chips = append(l.Chips, chip{Text: text, Without: l.state.withoutAll(name).address()})
		default:
			for i, v := range values {
				l.Chips = append(l.Chips, chip{Text: l.speech.condition(name, v), Without: l.state.without(name, i).address()})
			}
		}
	}
	if left > 0 {
		l.Chips = append(l.Chips, chip{Text: "+ " + strconv.Itoa(left), Without: l.Clear})
	}
}

// condition says a filter's parameter in words.
func (s speech) condition(name string, values ...string) string {
	f, op, ok := splitParameter(name)
	switch {
	case name == "q":
		return s.T("condition.q", strings.Join(values, ", "))
	case !ok:
		return name + " = " + strings.Join(values, ", ")
	case op == reservation.IsNull:
		return s.T("condition.null."+strconv.FormatBool(slices.Contains(values, "true")), s.FieldTitle(f))
	}
	said := make([]string, len(values))
	for i, v := range values {
		said[i] = s.operand(f, v)
	}
	return s.T("condition."+string(op), s.FieldTitle(f), strings.Join(said, ", "))
}

// operand says a value that a field is compared with.
func (s speech) operand(f reservation.Field, value string) string {
	if day, isDay := table.ParseDate(value); isDay && f.Type == table.Date && day.Kind() == table.KindDate {
		value = s.Date(day.AsTime())
	}
	if f.Key == "status" {
		value = s.Or("reservation.", value)
	}
	if value == "" {
		value = s.T("condition.empty")
	}
	return value
}

// pager leads through the pages.
type pager struct {
	First, Previous, Next, Last string // "" where there is none
	Numbers                     []link // an empty Text is a gap
	Page, Count                 int64
}

const pagesAround = 2 // of the current one

func (s listState) pager(total int64) pager {
	p := pager{Page: s.page, Count: max(1, (total+s.limit-1)/s.limit)}
	if s.page > 1 {
		p.First, p.Previous = s.at(1).address(), s.at(min(s.page-1, p.Count)).address()
	}
	if s.page < p.Count {
		p.Next, p.Last = s.at(s.page+1).address(), s.at(p.Count).address()
	}
	before := int64(0)
	for _, n := range s.pagesShown(p.Count) {
		if n > before+1 {
			p.Numbers = append(p.Numbers, link{})
		}
		p.Numbers = append(p.Numbers, link{Text: strconv.FormatInt(n, 10), To: s.at(n).address(), Current: n == s.page})
		before = n
	}
	return p
}

// pagesShown gives the pages that have a number: the first, those around the
// current one, and the last.
func (s listState) pagesShown(count int64) []int64 {
	shown := []int64{1}
	for n := max(2, s.page-pagesAround); n <= min(count, s.page+pagesAround); n++ {
		shown = append(shown, n)
	}
	if shown[len(shown)-1] < count {
		shown = append(shown, count)
	}
	return shown
}
