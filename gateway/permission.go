package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/internal/fault"
)

// needs says for every operation which permissions let a caller use it: any one of
// them, or none for whoever is known. An operation that is neither here nor at an
// open path makes New fail, so that none is forgotten.
var needs = map[string][]access.Permission{
	"get-me": {},

	"list-reservations": {access.ReadReservations},
	"get-reservation":   {access.ReadReservations},
	"list-columns":      {access.ReadReservations},

	"create-export":    {access.CreateExports},
	"list-exports":     {access.CreateExports, access.ReadAllExports}, // everybody's by the second alone
	"get-export":       {access.CreateExports, access.ReadAllExports}, // another's by the second alone
	"watch-export":     {access.CreateExports},
	"cancel-export":    {access.CreateExports},
	"download-export":  {access.CreateExports},
	"head-export-file": {access.CreateExports},
	"repeat-export":    {access.CreateExports},
	"link-export":      {access.CreateExports},
	"preflight-export": {access.ReadReservations},

	"get-home":         {access.ReadReservations},
	"put-home-section": {access.WriteHome},

	"list-audit":         {access.ReadAudit},
	"audit-csv":          {access.ReadAudit},
	"reservation-takers": {access.ReadAudit},
}

// rule puts the operation under its rule.
func (s *Server) rule(op *huma.Operation) {
	if openPaths[op.Path] || op.Path == linkPath {
		return
	}
	need, known := needs[op.OperationID]
	if !known {
		s.unruled = append(s.unruled, op.OperationID)
	}
	op.Security = []map[string][]string{{"bearer": {}}, {"session": {}}}
	if len(need) > 0 {
		op.Middlewares = append(huma.Middlewares{s.permitting(need)}, op.Middlewares...)
	}
}

// permitting lets callers pass who have one of the permissions. It comes before
// the input is read: who may not call learns nothing of what is wrong with it.
func (s *Server) permitting(need []access.Permission) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		if err := s.permit(hc.Context(), need...); err != nil {
			s.writeError(err, humaecho.Unwrap(hc))
			return
		}
		next(hc)
	}
}

// permit refuses a caller who has none of the permissions.
func (s *Server) permit(ctx context.Context, need ...access.Permission) error {
	caller, _ := access.From(ctx)
	names := make([]string, len(need))
	for i, p := range need {
		if caller.May(p) {
			return nil
		}
		names[i] = string(p)
	}
	wanted := strings.Join(names, " or ")
	return s.deny(ctx, wanted, fault.New(fault.Forbidden, "This needs the permission %s, which you do not have.", wanted))
}

// deny records that a call is refused by the rule, and gives why.
func (s *Server) deny(ctx context.Context, rule string, why error) error {
	if err := s.record(ctx, audit.Event{Action: audit.Deny, Detail: rule}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "The call could not be recorded. Try again soon.")
	}
	s.log(ctx).WarnContext(ctx, "call refused", "rule", rule, "subject", requestOf(ctx).subject)
	return why
}

// sameOrigin refuses a call that a browser sends with its cookie for a page of
// another origin, if it could change something.
func (s *Server) sameOrigin(r *http.Request) error {
	if err := s.origins.Check(r); err != nil {
		return s.deny(r.Context(), "cross-origin", fault.Wrap(err, fault.Forbidden, "A page of another site sent this with your session. Such a page has to send a token."))
	}
	return nil
}
