package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// limits are the page sizes that the list offers; the first is the default.
var limits = []int64{20, 50, 100, 200}

const (
	maxLimit  = 200
	maxOffset = 1 << 40 // far past every list, and far from an overflow
)

// shownFields are the columns of a list that asks for none: what an operator
// looks for, in the width of a screen.
var shownFields = []string{
	"code", "status", "property", "channel", "booked_on", "check_in", "check_out", "nights",
	"guest_name", "guest_phone", "amount", "currency",
}

// listState is the list as its address has it: the list's own dialect, and
// whether personal data are wanted in the clear.
type listState struct {
	params   url.Values // the filter, as it was given
	filter   reservation.Filter
	sort     reservation.Sort
	page     int64 // from 1
	limit    int64
	fields   []reservation.Field
	personal bool
}

// parseState reads an address. Where parts of it are wrong, the error names
// them and the rest of the state holds.
func parseState(query url.Values) (listState, error) {
	s := listState{params: url.Values{}, page: 1, limit: limits[0]}
	var wrong []fault.Field
	add := func(err error) {
		wrong = append(wrong, fieldsOf(err)...)
	}
	number := func(name string, most int64, to *int64) {
		if !query.Has(name) {
			return
		}
		n, err := strconv.ParseInt(query.Get(name), 10, 64)
		if err != nil || n < 1 || n > most {
			wrong = append(wrong, fault.Field{Name: name, Detail: fmt.Sprintf("is not a whole number from 1 to %d", most)})
			return
		}
		*to = n
	}
	number("_limit", maxLimit, &s.limit)
	number("_page", maxOffset/maxLimit, &s.page)
	var err error
	if s.sort, err = reservation.ParseSort(query.Get("_sort"), query.Get("_order")); err != nil {
		add(err)
		s.sort = reservation.DefaultSort
	}
	keys := shownFields
	if query.Has("_fields") {
		keys = strings.Split(query.Get("_fields"), ",")
	}
	if s.fields, err = reservation.FieldsOf(keys); err != nil {
		for _, detail := range fieldsOf(err) {
			wrong = append(wrong, fault.Field{Name: "_fields", Detail: detail.Detail})
		}
		s.fields, _ = reservation.FieldsOf(shownFields)
	}
	s.personal = query.Get("personal") == "true"
	for name, values := range query {
		if !slices.Contains([]string{"_page", "_limit", "_sort", "_order", "_fields", "personal"}, name) {
			s.params[name] = values
		}
	}
	if s.filter, err = reservation.ParseFilter(s.params); err != nil {
		add(err)
	}
	if len(wrong) > 0 {
		return s, fault.InvalidFields("The address of this list is not valid.", wrong...)
	}
	return s, nil
}

func fieldsOf(err error) []fault.Field {
	if f, ok := fault.As(err); ok {
		return f.Fields
	}
	return nil
}

// keys gives the columns' keys.
func (s listState) keys() []string {
	keys := make([]string, len(s.fields))
	for i, f := range s.fields {
		keys[i] = f.Key
	}
	return keys
}

// values gives the state in the dialect; what is the default is left out.
func (s listState) values() url.Values {
	query := url.Values{}
	for name, values := range s.params {
		query[name] = slices.Clone(values)
	}
	if s.page > 1 {
		query.Set("_page", strconv.FormatInt(s.page, 10))
	}
	if s.limit != limits[0] {
		query.Set("_limit", strconv.FormatInt(s.limit, 10))
	}
	if s.sort != reservation.DefaultSort {
		query.Set("_sort", s.sort.Field)
		query.Set("_order", s.order())
	}
	if keys := s.keys(); !slices.Equal(keys, shownFields) {
		query.Set("_fields", strings.Join(keys, ","))
	}
	if s.personal {
		query.Set("personal", "true")
	}
	return query
}

func (s listState) order() string {
	if s.sort.Desc {
		return "desc"
	}
	return "asc"
}

// address gives the list's address in this state.
func (s listState) address() string { return listAddress(s.values()) }

func listAddress(query url.Values) string {
	if len(query) == 0 {
		return "/reservations"
	}
	return "/reservations?" + query.Encode()
}

// at gives the state on another page.
func (s listState) at(page int64) listState { s.page = page; return s }

// sized gives the state with pages of another size, from the first.
func (s listState) sized(limit int64) listState { s.limit = limit; return s.at(1) }

// sortedBy gives the state sorted by the field: upwards, or downwards if it
// was sorted upwards by it.
func (s listState) sortedBy(field string) listState {
	s.sort = reservation.Sort{Field: field, Desc: s.sort.Field == field && !s.sort.Desc}
	return s.at(1)
}

// shown gives the state with personal data in the clear or masked.
func (s listState) shown(personal bool) listState { s.personal = personal; return s }

// without gives the state without one value of a filter's parameter.
func (s listState) without(name string, i int) listState {
	params := url.Values{}
	for n, values := range s.params {
		if n == name {
			values = slices.Delete(slices.Clone(values), i, i+1)
		}
		if len(values) > 0 {
			params[n] = values
		}
	}
	s.params = params
	return s.at(1)
}

// withoutAll gives the state without a filter's parameter.
func (s listState) withoutAll(name string) listState {
	s.params = maps.Clone(s.params)
	s.params.Del(name)
	return s.at(1)
}

// unfiltered gives the state without any filter.
func (s listState) unfiltered() listState { s.params = url.Values{}; return s.at(1) }

// fromForm gives the address that a sent form means: what was left empty is
// dropped, the ticked columns become one parameter, and the further filter is
// put under its name. It starts at the first page.
func fromForm(query url.Values) string {
	out := url.Values{}
	for name, values := range query {
		if strings.HasPrefix(name, "form") {
			continue
		}
		if values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.TrimSpace(v) == "" }); len(values) > 0 {
			out[name] = values
		}
	}
	out.Del("_page")
	if columns := query["form.column"]; len(columns) > 0 {
		out.Del("_fields")
		if keys := inOrder(columns, strings.Split(query.Get("_fields"), ",")); !slices.Equal(keys, shownFields) {
			out.Set("_fields", strings.Join(keys, ","))
		}
	}
	if field, op := query.Get("form.field"), query.Get("form.op"); field != "" {
		value := strings.TrimSpace(query.Get("form.value"))
		if op == "_null" && value == "" {
			value = "true"
		}
		if value != "" {
			out.Add(field+op, value)
		}
	}
	return listAddress(out)
}

// inOrder gives the ticked columns: those that were shown in their order, then
// the others in the catalog's.
func inOrder(ticked, shown []string) (keys []string) {
	if len(shown) == 1 && shown[0] == "" {
		shown = shownFields
	}
	for _, key := range shown {
		if slices.Contains(ticked, key) {
			keys = append(keys, key)
		}
	}
	for _, f := range reservation.Fields() {
		if slices.Contains(ticked, f.Key) && !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// splitParameter takes a filter's parameter apart.
func splitParameter(name string) (f reservation.Field, op reservation.Op, ok bool) {
	if f, ok = reservation.FieldOf(name); ok {
		return f, reservation.Equal, true
	}
	for _, op := range []reservation.Op{reservation.AtLeast, reservation.AtMost, reservation.NotIn, reservation.Prefix, reservation.IsNull} {
		if base, cut := strings.CutSuffix(name, "_"+string(op)); cut {
			if f, ok = reservation.FieldOf(base); ok {
				return f, op, true
			}
		}
	}
	return f, "", false
}
