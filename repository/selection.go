package repository

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// selection is a query in SQL: what holds of its rows and how they are ordered.
type selection struct {
	terms []string // all hold
	args  []any
	sort  string // a column of the main table, NOT NULL
	desc  bool
	scope within
}

// selection turns a query into SQL; a sort or a condition that is none is Invalid.
func (d *DB) selection(q reservation.Query) (selection, error) {
	if q.Sort.Field == "" {
		q.Sort.Field = reservation.DefaultSort.Field
	}
	f, ok := reservation.FieldOf(q.Sort.Field)
	if !ok || !f.Sort {
		return selection{}, fault.InvalidFields("The sort is not valid.", fault.Field{Name: q.Sort.Field, Detail: "cannot be sorted by"})
	}
	if err := reservation.CheckScope(q.Scope); err != nil {
		return selection{}, err
	}
	s := selection{sort: f.Column, desc: q.Sort.Desc, scope: withinOf(q.Scope)}
	if limit := s.scope.of(mainTable); limit != "" {
		s.terms = append(s.terms, limit)
	}
	for _, c := range q.Filter.Conditions {
		term, args, err := d.condition(c)
		if err != nil {
			return selection{}, err
		}
		s.terms = append(s.terms, term)
		s.args = append(s.args, args...)
	}
	if q.Filter.Search != "" {
		term, args, err := search(q.Filter.Search, q.Scope.Personal)
		if err != nil {
			return selection{}, err
		}
		s.terms = append(s.terms, term)
		s.args = append(s.args, args...)
	}
	return s, nil
}

func (s selection) where() string {
	if len(s.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(s.terms, " AND ")
}

// unique are the sorts that need no id behind them; with one, MariaDB would not
// see that the unique index gives the order, and sort.
var unique = map[string]bool{"id": true, "code": true}

// order sorts by the columns of t; the id follows in the same direction.
func (s selection) order(t string) string {
	direction := ""
	if s.desc {
		direction = " DESC"
	}
	if unique[s.sort] {
		return " ORDER BY " + t + "." + s.sort + direction
	}
	return " ORDER BY " + t + "." + s.sort + direction + ", " + t + ".id" + direction
}

// reversed is the same rows from the other end.
func (s selection) reversed() selection {
	s.desc = !s.desc
	return s
}

// beyond is how rows further on in the order compare.
func (s selection) beyond() string {
	if s.desc {
		return "<"
	}
	return ">"
}

// with keeps the rows that another term holds of.
func (s selection) with(term string, args ...any) selection {
	s.terms = append(slices.Clip(s.terms), term)
	s.args = append(slices.Clip(s.args), args...)
	return s
}

// listKey tells selections apart without keeping what their filters ask for.
type listKey [sha256.Size]byte

// key is the same for the same rows; ordered, only if their order is the same too.
func (s selection) key(ordered bool) listKey {
	text := s.where()
	if ordered {
		text += s.order(mainTable)
	}
	return sha256.Sum256(fmt.Appendf(nil, "%q %#v", text, s.args))
}

// behind keeps the rows behind a place in the order, whether its row is still
// there or not. A row comparison, (a, id) > (?, ?), would say the same, but
// MariaDB reads the whole index for it.
func (s selection) behind(a anchor) selection {
	column, beyond := "reservations."+s.sort, s.beyond()
	if s.sort == "id" {
		return s.with(column+" "+beyond+" ?", a.id)
	}
	if unique[s.sort] {
		return s.with(column+" "+beyond+" ?", a.value)
	}
	return s.with(column+" "+beyond+"= ?", a.value).
		with("("+column+" "+beyond+" ? OR "+column+" = ? AND reservations.id "+beyond+" ?)", a.value, a.value, a.id)
}

// after keeps the rows behind the one with the id; none if there is no such
// row. The first bound alone gives both engines the place in the index to start from.
func (s selection) after(id int64) selection {
	if s.sort == "id" { // known without the row
		return s.behind(anchor{id: id})
	}
	column, beyond := "reservations."+s.sort, s.beyond()
	cursor := "(SELECT c." + s.sort + " FROM reservations c WHERE c.id = ?" + s.scope.and("c") + ")"
	return s.with(column+" "+beyond+"= "+cursor, id).
		with("("+column+" "+beyond+" "+cursor+" OR "+column+" = "+cursor+" AND reservations.id "+beyond+" ?)", id, id, id)
}
