package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/internal/fault"
)

// checkTimeout is how long a dependency may take to say that it is well.
const checkTimeout = 2 * time.Second

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
	failed := s.runChecks(ctx)
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

// runChecks asks every dependency at once and gives the errors of those that fail.
func (s *Server) runChecks(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed = map[string]error{}
	)
	for name, check := range s.cfg.Checks {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[name] = err
			}
		})
	}
	wg.Wait()
	return failed
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
