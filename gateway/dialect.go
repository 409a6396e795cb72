package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// listQuery is a list as a caller asks for it in json-server's dialect.
type listQuery struct {
	query   reservation.Query // its scope is the caller's to be given
	window  reservation.Window
	bounded bool // the caller has named the window
	fields  []reservation.Field

	personal bool // the caller wants personal data in the clear
}

// pageLimit is json-server's own page size where _page comes without _limit.
const pageLimit = 10

// parseList reads the list's parameters and names everything that is wrong.
func parseList(raw string) (listQuery, error) {
	params, err := url.ParseQuery(raw)
	if err != nil {
		return listQuery{}, fault.Wrap(err, fault.Invalid, "The query cannot be read: check its percent signs and semicolons.")
	}
	p := listParams{params: params}
	q := listQuery{
		query:  reservation.Query{Sort: p.sort()},
		fields: p.fields("_fields", reservation.DefaultFields()),
	}
	q.window, q.bounded = p.window()
	q.personal = p.flag("personal")
	q.query.Filter, err = reservation.ParseFilter(params) // what is left
	p.add(err)
	if len(p.wrong) > 0 {
		return listQuery{}, fault.InvalidFields("The list's parameters are not valid.", p.wrong...)
	}
	return q, nil
}

// listParams takes parameters away until only the filter is left.
type listParams struct {
	params url.Values
	wrong  []fault.Field
}

func (p *listParams) fail(name, format string, args ...any) {
	p.wrong = append(p.wrong, fault.Field{Name: name, Detail: fmt.Sprintf(format, args...)})
}

func (p *listParams) add(err error) {
	if f, ok := fault.As(err); ok {
		p.wrong = append(p.wrong, f.Fields...)
	}
}

// take gives the value of a parameter that must not be repeated.
func (p *listParams) take(name string) (value string, given bool) {
	values, given := p.params[name]
	delete(p.params, name)
	if len(values) > 1 {
		p.fail(name, "is given %d times", len(values))
	}
	if !given {
		return "", false
	}
	return values[0], true
}

// flag takes a parameter that is true or false; false if it is not given.
func (p *listParams) flag(name string) bool {
	text, given := p.take(name)
	if given && text != "true" && text != "false" {
		p.fail(name, "%q is neither true nor false", text)
	}
	return text == "true"
}

// number takes a parameter that is a whole number from least on.
func (p *listParams) number(name string, least int64) (n int64, given bool) {
	text, given := p.take(name)
	if !given {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		p.fail(name, "%q is not a whole number from %d on", text, least)
		return least, true
	}
	return n, true
}

func (p *listParams) sort() reservation.Sort {
	field, _ := p.take("_sort")
	order, _ := p.take("_order")
	sort, err := reservation.ParseSort(field, order)
	p.add(err)
	return sort
}

func (p *listParams) fields(name string, defaults []string) []reservation.Field {
	keys := defaults
	if text, given := p.take(name); given {
		keys = strings.Split(text, ",")
	}
	fields, err := reservation.FieldsOf(keys)
	if f, ok := fault.As(err); ok {
		for _, field := range f.Fields {
			p.fail(name, "%s", field.Detail)
		}
	}
	return fields
}

// window reads _start and _end, or _page and _limit, or _start and _limit.
// Without any the caller wants every row, which is no window but a wish.
func (p *listParams) window() (w reservation.Window, bounded bool) {
	before := len(p.wrong)
	start, hasStart := p.number("_start", 0)
	end, hasEnd := p.number("_end", 0)
	page, hasPage := p.number("_page", 1)
	limit, hasLimit := p.number("_limit", 0)
	if len(p.wrong) > before {
		return w, true
	}
	limitName := "_limit"
	switch {
	case hasPage && (hasStart || hasEnd):
		p.fail("_page", "stands beside _start or _end: ask for one or the other")
	case hasEnd && hasLimit:
		p.fail("_limit", "stands beside _end: ask for one or the other")
	case hasStart && !hasEnd && !hasLimit:
		p.fail("_start", "needs _end or _limit: a page has at most %d rows", reservation.MaxListLimit)
	case hasEnd:
		limit, limitName = end-start, "_end"
	case hasPage && !hasLimit:
		limit = pageLimit
	case !hasStart && !hasPage && !hasLimit:
		return reservation.Window{Limit: reservation.MaxListLimit}, false
	}
	if len(p.wrong) > before {
		return w, true
	}
	if limit < 1 || limit > reservation.MaxListLimit {
		p.fail(limitName, "asks for a page of %d rows; a page has 1 to %d", limit, reservation.MaxListLimit)
		return w, true
	}
	if hasPage {
		if page > maxOffset/limit {
			p.fail("_page", "%d is too far", page)
			return w, true
		}
		start = (page - 1) * limit
	}
	return reservation.Window{Offset: start, Limit: int(limit)}, true
}

// maxOffset keeps a place in the list within what every store can count.
const maxOffset = 1 << 52

// filterNames gives the names of every filter parameter there is.
func filterNames() []string {
	names := []string{"q"}
	for _, f := range reservation.Fields() {
		for _, suffix := range []string{"", "_ne", "_gte", "_lte", "_like", "_null"} {
			if filterable(f, suffix) {
				names = append(names, f.Key+suffix)
			}
		}
	}
	slices.Sort(names)
	return names
}

// filterable asks the parser itself, whose word is final: a parameter that does
// not exist is refused whatever its value, one that does takes a value that fits.
func filterable(f reservation.Field, suffix string) bool {
	for _, value := range []string{"1", "true", "2026-11-30", "2026-11-30T00:00:00Z"} {
		if _, err := reservation.ParseFilter(map[string][]string{f.Key + suffix: {value}}); err == nil {
			return true
		}
	}
	return false
}
