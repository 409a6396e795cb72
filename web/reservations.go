package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rowmill/access"
	"rowmill/reservation"
)

// listPage is the list as its template has it.
type listPage struct {
	state   listState
	speech  speech
	Problem *problem

	Heads   []head
	Rows    []row
	Total   int64
	From    int64 // place of the first row, from 1
	To      int64
	Pages   pager
	Sizes   []link
	Chips   []chip
	Offers  map[string][]string
	Columns []option
	Fields  []option
	Ops     []option
	Held    []hidden // what the form hands on without showing it

	MayReveal bool   // personal data may be shown in the clear
	Revealed  bool   // they are
	Reveal    string // the address where it is the other way round
	Masked    bool   // a shown column is masked
	Clear     string // the address without a filter
	Order     string // the export that has the same rows, as JSON
}

type head struct {
	Key, Title string
	Sort       string // aria-sort; "" if the list cannot be sorted by it
	To         string
	Number     bool
	Masked     bool
}

type row struct {
	To    string
	ID    int64
	Label string
	Cells []cell
}

type link struct {
	Text, To string
	Current  bool
}

type chip struct{ Text, Without string }

type option struct {
	Value, Text string
	On          bool
}

type hidden struct{ Name, Value string }

// reservations is the list.
func (p *pages) reservations(r *http.Request, f *frame) error {
	if f.Query.Has("form") {
		return redirect{fromForm(f.Query)}
	}
	state, err := parseState(f.Query)
	scope := f.Caller.Scope(state.personal)
	page := &listPage{state: state, speech: f.speech, Offers: p.choices.of(r.Context(), scope)}
	f.View, f.Title, f.Page = "reservations", f.T("list.title"), page
	page.controls(f, scope)
	var list reservation.List
	if err == nil {
		q := reservation.Query{Filter: state.filter, Sort: state.sort, Scope: scope}
		w := reservation.Window{Offset: (state.page - 1) * state.limit, Limit: int(state.limit)}
		list, err = p.cfg.Reservations.List(r.Context(), q, w, state.fields, true)
	}
	if err != nil {
		page.Problem, f.Status = p.problem(r.Context(), f.speech, err)
		return nil
	}
	page.fill(list, scope)
	return nil
}

// controls are what stands round the rows.
func (l *listPage) controls(f *frame, scope access.Scope) {
	s := l.state
	l.MayReveal, l.Revealed = f.Caller.May(access.ReadPersonal), scope.Personal
	l.Reveal = s.shown(!l.Revealed).address()
	l.Clear = s.unfiltered().address()
	for _, limit := range limits {
		l.Sizes = append(l.Sizes, link{Text: strconv.FormatInt(limit, 10), To: s.sized(limit).address(), Current: limit == s.limit})
	}
	for _, field := range reservation.Fields() {
		on := slices.ContainsFunc(s.fields, func(shown reservation.Field) bool { return shown.Key == field.Key })
		l.Columns = append(l.Columns, option{Value: field.Key, Text: f.FieldTitle(field), On: on})
		if !field.Computed() {
			l.Fields = append(l.Fields, option{Value: field.Key, Text: f.FieldTitle(field)})
		}
	}
	for _, op := range []string{"", "_like", "_gte", "_lte", "_ne", "_null"} {
		l.Ops = append(l.Ops, option{Value: op, Text: f.T("choose.op" + op)})
	}
	for _, field := range s.fields {
		l.head(field, scope)
	}
	l.chips()
	l.held()
	l.Order = s.export()
}

func (l *listPage) head(field reservation.Field, scope access.Scope) {
	h := head{Key: field.Key, Title: l.speech.FieldTitle(field), Number: isNumber(field), Masked: field.Personal != "" && !scope.Personal}
	l.Masked = l.Masked || h.Masked
	if field.Sort {
		h.Sort, h.To = "none", l.state.sortedBy(field.Key).address()
		if l.state.sort.Field == field.Key {
			h.Sort = "ascending"
			if l.state.sort.Desc {
				h.Sort = "descending"
			}
		}
	}
	l.Heads = append(l.Heads, h)
}

// Filter gives the filter as the export-button takes it.
func (l *listPage) Filter() string { return asJSON(l.state.params) }

// SortField gives the field that the list is sorted by.
func (l *listPage) SortField() string { return l.state.sort.Field }

// SortOrder gives the direction, "asc" or "desc".
func (l *listPage) SortOrder() string { return l.state.order() }

// ColumnKeys gives the columns, separated by commas.
func (l *listPage) ColumnKeys() string { return strings.Join(l.state.keys(), ",") }

// LastPage gives the address of the last page that has rows.
func (l *listPage) LastPage() string { return l.state.at(l.Pages.Count).address() }

// export gives the body of the order for the same rows, columns and sort.
func (s listState) export() string {
	return asJSON(map[string]any{
		"dataset": "reservations", "filter": s.params, "sort": s.sort.Field, "order": s.order(), "columns": s.keys(),
	})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // texts and lists of texts always marshal
	}
	return string(b)
}

// fill puts the rows in.
func (l *listPage) fill(list reservation.List, scope access.Scope) {
	l.Total = list.Total
	l.Pages = l.state.pager(list.Total)
	if len(list.Rows) > 0 {
		l.From = (l.state.page-1)*l.state.limit + 1
		l.To = l.From + int64(len(list.Rows)) - 1
	}
	for _, data := range list.Rows {
		shown := row{ID: data.Key, Label: strconv.FormatInt(data.Key, 10), To: l.state.detail(data.Key)}
		for i, v := range data.Values {
			c := l.speech.fieldCell(l.state.fields[i], v, scope)
			if l.state.fields[i].Key == "code" {
				shown.Label = c.Text
			}
			shown.Cells = append(shown.Cells, c)
		}
		l.Rows = append(l.Rows, shown)
	}
}

// maxBack is the most bytes of a list's address that a link hands on: as a
// parameter it grows, stands in each row, and past the gateway's bound leads nowhere.
const maxBack = 2 << 10

// detail gives the address of one reservation, which knows the way back; one that
// is too long it forgets.
func (s listState) detail(id int64) string {
	to := fmt.Sprintf("/reservations/%d", id)
	query := s.values().Encode()
	if len(query) > maxBack {
		query = ""
		if s.personal {
			query = "personal=true"
		}
	}
	if query != "" {
		to += "?list=" + escape(query)
	}
	return to
}
