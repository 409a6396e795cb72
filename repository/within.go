package repository

import (
	"slices"

	"rowmill/access"
)

// within keeps statements to the properties of a scope.
type within struct {
	all  bool
	none bool    // no row is seen: there is nothing to ask a database for
	ids  []int64 // ascending and each once, so that equal scopes are equal statements
}

func withinOf(s access.Scope) within {
	if s.Properties == nil {
		return within{all: true}
	}
	ids := slices.Compact(slices.Sorted(slices.Values(s.Properties)))
	return within{none: len(ids) == 0, ids: ids}
}

// of gives the term that keeps the rows of t, the main table or an alias of it,
// to the properties; "" if all are seen. The ids are written out, as byKeys does.
func (w within) of(t string) string {
	switch {
	case w.all:
		return ""
	case w.none:
		return "1 = 0"
	}
	return string(appendIn(nil, t+".property_id", w.ids))
}

// and gives the term as it follows others.
func (w within) and(t string) string {
	if term := w.of(t); term != "" {
		return " AND " + term
	}
	return ""
}
