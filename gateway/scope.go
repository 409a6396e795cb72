package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

// minReason is how many characters a reason has at least, spaces not counted.
const minReason = 5

// scopeOf gives what the caller of ctx sees; personal is what they ask for, and
// Forbidden if they may not read it.
func scopeOf(ctx context.Context, personal bool) (access.Scope, error) {
	caller, _ := access.From(ctx)
	if personal && !caller.May(access.ReadPersonal) {
		return access.Scope{}, fault.New(fault.Forbidden, "%s is needed to see personal data in the clear.", access.ReadPersonal)
	}
	return caller.Scope(personal), nil
}

// filterFor gives a filter as the caller of ctx may read it: whom rows were looked
// for by is personal too, also where others than the one who looked read it.
func filterFor(ctx context.Context, filter map[string][]string, personal bool) map[string][]string {
	if caller, _ := access.From(ctx); caller.May(access.ReadPersonal) {
		return filter
	}
	return reservation.MaskFilter(filter, personal)
}

// allow gives what the caller's export may show. Personal data in the clear need
// the permission to read them and, where a column holds some, a reason; without
// them no row may be selected or ordered by them.
func (o *orders) allow(ctx context.Context, order Order, r export.Request) (access.Scope, error) {
	scope, err := o.scope(ctx, order.Personal)
	if err != nil {
		return access.Scope{}, err
	}
	if scope.Personal && len(o.personalColumns(r)) > 0 {
		if err := enough(ctx, r.Reason); err != nil {
			return access.Scope{}, err
		}
	}
	return scope, checkScope(r, scope)
}

// personalColumns gives the keys of the request's columns that hold personal data.
func (o *orders) personalColumns(r export.Request) []string {
	return slices.DeleteFunc(slices.Clone(r.Columns), func(key string) bool {
		c, ok := o.datasets[r.Dataset].Column(key)
		return !ok || c.Personal == ""
	})
}

// checkScope holds the rows that the request selects against what may be seen.
func checkScope(r export.Request, scope access.Scope) error {
	if r.Dataset != reservationsName {
		return nil
	}
	filter, err := reservation.ParseFilter(r.Filter)
	if err != nil {
		return err
	}
	sort, err := reservation.ParseSort(r.Sort, r.Order)
	if err != nil {
		return err
	}
	return reservation.Query{Filter: filter, Sort: sort, Scope: scope}.Check()
}

// enough refuses a reason that says nothing.
func enough(ctx context.Context, reason string) error {
	said := 0
	for _, r := range reason {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) && !blank(r) {
			said++
		}
	}
	if said >= minReason {
		return nil
	}
	p := statusProblem(ctx, http.StatusBadRequest, "Personal data leave in the clear with a reason only.")
	p.Errors = []ProblemItem{item("reason", "says in at least 5 characters, spaces not counted, why personal data are taken out")}
	return p
}

// blank reports whether r is shown as nothing, though Unicode has it among letters,
// marks and symbols: Hangul fillers, variation selectors, the empty Braille cell.
func blank(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800'
}

// checkReason tells what is wrong with the text of a reason, given or not. Its
// length is checked with the body. Whoever reads it in the audit must see it as it
// is: in one line, and in its own order.
func checkReason(reason string) []ProblemItem {
	deceives := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}
	if strings.ContainsFunc(reason, deceives) || !utf8.ValidString(reason) {
		return []ProblemItem{item("reason", "holds control characters, such as a line break or a change of the writing direction")}
	}
	return nil
}
