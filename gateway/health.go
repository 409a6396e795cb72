package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// Health says that a process or its dependencies are well.
type Health struct {
	Status string            `json:"status" enum:"ok"`
	Checks map[string]string `json:"checks,omitempty" doc:"By dependency"`
}

type healthOutput struct{ Body Health }

func (s *Server) livez(context.Context, *struct{}) (*healthOutput, error) {
	return &healthOutput{Body: Health{Status: "ok"}}, nil
}

func (s *Server) readyz(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	if s.isDraining() {
		return nil, fault.New(fault.Unavailable, "The server is shutting down.")
	}
	failed := httpedge.Failing(ctx, s.cfg.Checks)
	if len(failed) > 0 {
		p := problemOf(ctx, fault.New(fault.Unavailable, "Not ready: a dependency does not answer, or is not as it must be."))
		for _, name := range slices.Sorted(maps.Keys(failed)) {
			s.log(ctx).WarnContext(ctx, "dependency not ready", "dependency", name, "error", failed[name])
			p.Errors = append(p.Errors, ProblemItem{Name: name, Message: "is not ready; the log has the cause"})
		}
		return nil, p
	}
	out := &healthOutput{Body: Health{Status: "ok", Checks: map[string]string{}}}
	for name := range s.cfg.Checks {
		out.Body.Checks[name] = "ok"
	}
	return out, nil
}

func (s *Server) healthRoutes() {
	register(s, huma.Operation{
		OperationID: "livez", Method: http.MethodGet, Path: "/livez", Tags: []string{"Health"},
		Summary: "The process runs",
	}, s.livez, http.StatusInternalServerError)
	register(s, huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Tags: []string{"Health"},
		Summary: "The process can serve: each dependency answers, and the schema is up to date",
	}, s.readyz, http.StatusInternalServerError, http.StatusServiceUnavailable)
}
