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

// allow gives what the caller's export may show. Personal data in the clear need
// the permission to read them and, where a column holds some, a reason; without
// them no row may be selected or ordered by them.
func (o *orders) allow(ctx context.Context, order Order, r export.Request) (access.Scope, error) {
	scope, err := scopeOf(ctx, order.Personal)
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
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
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

// checkReason tells what is wrong with the text of a reason, given or not. Its
// length is checked with the body.
func checkReason(reason string) []ProblemItem {
	if strings.ContainsFunc(reason, unicode.IsControl) || !utf8.ValidString(reason) {
		return []ProblemItem{item("reason", "holds control characters, such as a line break")}
	}
	return nil
}
