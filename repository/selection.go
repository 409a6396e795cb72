package repository

import (
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
	s := selection{sort: f.Column, desc: q.Sort.Desc}
	for _, c := range q.Filter.Conditions {
		term, args, err := d.condition(c)
		if err != nil {
			return selection{}, err
		}
		s.terms = append(s.terms, term)
		s.args = append(s.args, args...)
	}
	if q.Filter.Search != "" {
		term, args, err := search(q.Filter.Search)
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

// after keeps the rows behind the one with the id. A row comparison, (a, id) >
// (?, ?), would say the same, but MariaDB reads the whole index for it. The
// first bound alone gives both engines the place in the index to start from.
func (s selection) after(id int64) selection {
	beyond := ">"
	if s.desc {
		beyond = "<"
	}
	s.terms, s.args = slices.Clone(s.terms), slices.Clone(s.args)
	if s.sort == "id" { // known without the row
		s.terms = append(s.terms, "reservations.id "+beyond+" ?")
		s.args = append(s.args, id)
		return s
	}
	column := "reservations." + s.sort
	cursor := "(SELECT c." + s.sort + " FROM reservations c WHERE c.id = ?)"
	s.terms = append(s.terms, column+" "+beyond+"= "+cursor,
		"("+column+" "+beyond+" "+cursor+" OR "+column+" = "+cursor+" AND reservations.id "+beyond+" ?)")
	s.args = append(s.args, id, id, id, id)
	return s
}
