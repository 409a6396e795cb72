package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// Identity finds out who calls. Its error is Unauthorized if that is not known,
// and Unavailable if it cannot be told just now.
type Identity interface {
	Authenticate(r *http.Request) (access.Principal, httpedge.Method, error)
}

// authenticate lets known callers pass; paths without data are open.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if openPaths[c.Path()] || signedRoutes[c.Path()] {
			return next(c)
		}
		r := c.Request()
		caller, method, err := s.cfg.Identity.Authenticate(r)
		if err != nil && method != httpedge.ByBearer && fault.KindOf(err) == fault.Unauthorized && pagePaths[c.Path()] {
			return next(c)
		}
		if err != nil {
			challenge(c.Response().Header(), method, err)
			return err
		}
		requestOf(r.Context()).subject = caller.Subject
		c.SetRequest(r.WithContext(access.With(r.Context(), caller)))
		requestOf(r.Context()).byCookie = method == httpedge.ByCookie
		return next(c)
	}
}

// challenge says how to show who one is (RFC 6750, 3).
func challenge(h http.Header, method httpedge.Method, err error) {
	switch {
	case fault.KindOf(err) != fault.Unauthorized:
	case method == httpedge.ByBearer:
		h.Set("WWW-Authenticate", httpedge.Challenge+`, error="invalid_token"`)
	default:
		h.Set("WWW-Authenticate", httpedge.Challenge)
	}
}

// trustedOrigins checks where unsafe calls come from. A proxy may have changed the
// Host, so that the public origin is named besides.
func trustedOrigins(baseURL string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	base, err := url.Parse(baseURL)
	if err != nil || baseURL == "" {
		return p, err
	}
	return p, p.AddTrustedOrigin(base.Scheme + "://" + base.Host)
}

// Record keeps an event of the call of ctx, as done by p: for handlers that the
// gateway serves and that know the caller before it does.
func (s *Server) Record(ctx context.Context, p access.Principal, action audit.Action) error {
	return s.record(access.With(ctx, p), audit.Event{Action: action})
}

// MeView is the caller.
type MeView struct {
	Subject     string              `json:"subject"`
	Name        string              `json:"name"`
	Permissions []access.Permission `json:"permissions" nullable:"false"`
	Properties  []int64             `json:"properties" nullable:"true" doc:"Whose rows are seen. null: all"`
	MaxRows     int64               `json:"max_rows" doc:"Of one export. 0: no bound but the service's"`
	Development bool                `json:"development" doc:"Callers choose their role here: nothing is safe"`
}

type meOutput struct{ Body MeView }

func (s *Server) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	p, _ := access.From(ctx)
	view := MeView{Subject: p.Subject, Name: p.Name, Permissions: p.Permissions, Properties: p.Properties, MaxRows: p.MaxRows, Development: s.cfg.Development}
	if view.Permissions == nil {
		view.Permissions = []access.Permission{}
	}
	return &meOutput{Body: view}, nil
}

// signInPaths are what SignIn serves, by method.
var signInPaths = []struct{ id, method, path, summary string }{
	{"sign-in", http.MethodGet, "/auth/login", "Sign in by browser; return_to is the local path to come back to"},
	{"sign-in-callback", http.MethodGet, "/auth/callback", "Where the sign-in service sends the browser back to"},
	{"sign-out", http.MethodPost, "/auth/logout", "End the browser's session"},
	{"choose-role", http.MethodGet, "/auth/development", "The roles to choose from, on a machine for development alone"},
	{"take-role", http.MethodPost, "/auth/development", "Sign in with a chosen role, on a machine for development alone"},
}

func (s *Server) identityRoutes() {
	register(s, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/api/v1/me", Tags: []string{"Identity"},
		Summary: "Who you are here, and what you may do", RejectUnknownQueryParameters: true,
	}, s.me, 400, 401, 500, 503)
	if s.cfg.SignIn == nil {
		return
	}
	for _, p := range signInPaths {
		responses := response("A page", "text/html", text(""))
		responses["303"] = &huma.Response{Description: "On to the sign-in service, or back to the page"}
		register(s, huma.Operation{
			OperationID: p.id, Method: p.method, Path: p.path, Tags: []string{"Identity"}, Summary: p.summary, Responses: responses,
		}, s.signIn, http.StatusInternalServerError)
	}
}

func (s *Server) signIn(context.Context, *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humaecho.Unwrap(hc)
		s.cfg.SignIn.ServeHTTP(c.Response(), c.Request())
	}}, nil
}
