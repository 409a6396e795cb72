package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/internal/telemetry"
)

// placing are the operations that make an export: its trace begins with them and
// is kept whatever the ratio.
var placing = map[string]bool{"create-export": true, "repeat-export": true}

// streaming are the operations that last as long as their callers watch, whose
// time says nothing of the gateway.
var streaming = map[string]bool{"watch-export": true}

// routeOf is how the router knows an operation: OpenAPI's {id} is its :id.
func routeOf(method, path string) string {
	return method + " " + strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// operationOf names the operation of a call: by its id in the OpenAPI document,
// "page" and "asset" for what people look at, "sign-in", or "other" for the rest,
// such as paths that there are not. There are few names, whatever is called.
func (s *Server) operationOf(c echo.Context) string {
	method := c.Request().Method
	if method == http.MethodHead {
		method = http.MethodGet // it has the same handler
	}
	if id := s.operations[method+" "+c.Path()]; id != "" {
		return id
	}
	switch {
	case pagePaths[c.Path()]:
		return "page"
	case c.Path() == assetPath:
		return "asset"
	case strings.HasPrefix(c.Path(), "/auth/"):
		return "sign-in"
	}
	return "other"
}

// enter goes on with the caller's trace, or begins one. Probes have no span.
func (s *Server) enter(c echo.Context, operation string) (context.Context, *telemetry.Span) {
	r, tracer := c.Request(), s.cfg.Tracer
	if probed[c.Path()] {
		tracer = nil
	}
	route := c.Path()
	if operation == "other" {
		route = "" // it may be what the caller has made up
	}
	return tracer.Enter(r.Context(), r.Header.Get("traceparent"), telemetry.Entry{
		Name: strings.TrimSpace(methodOf(r) + " " + route), Kind: telemetry.ServerSide, Always: placing[operation],
		Attrs: []telemetry.Attr{telemetry.Text("http.request.method", methodOf(r)), telemetry.Text("http.route", route), telemetry.Text("rowmill.operation", operation)},
	})
}

// methodOf gives a method that is known, or "_OTHER", as OpenTelemetry names the rest.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER"
}

// answered ends the call's span and counts the call.
func (s *Server) answered(c echo.Context, span *telemetry.Span, operation string, took time.Duration) {
	status := c.Response().Status
	span.Set(telemetry.Number("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(status))
	}
	span.End(nil)
	if s.cfg.Answered != nil && !streaming[operation] {
		s.cfg.Answered(operation, status, took)
	}
}
