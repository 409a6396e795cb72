package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// request is what a call is known by.
type request struct {
	id          string // X-Request-Id
	traceParent string // W3C trace context
	traceID     string
	subject     string // "" until the token is seen
}

type requestKey struct{}

// requestOf gives the call that ctx belongs to; outside of one, an empty one.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// identify takes the caller's request id and trace, or makes new ones.
func identify(r *http.Request) (*request, context.Context) {
	w3c := propagation.TraceContext{}
	ctx := w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		span = newTrace()
		ctx = trace.ContextWithSpanContext(ctx, span)
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	req := &request{
		id:          r.Header.Get("X-Request-Id"),
		traceParent: carrier.Get("traceparent"),
		traceID:     span.TraceID().String(),
	}
	if !visibleASCII(req.id, maxRequestID) {
		req.id = rand.Text()
	}
	return req, context.WithValue(ctx, requestKey{}, req)
}

const maxRequestID = 128

func newTrace() trace.SpanContext {
	var cfg trace.SpanContextConfig
	rand.Read(cfg.TraceID[:]) // never fails; all zero is as likely as a collision
	rand.Read(cfg.SpanID[:])
	return trace.NewSpanContext(cfg)
}

// visibleASCII reports whether s has 1 to limit bytes, each of them 0x21 to 0x7E.
func visibleASCII(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// log gives the logger for what happens during the call of ctx.
func (s *Server) log(ctx context.Context) *slog.Logger { return logger(s.cfg.Logger, ctx) }

func logger(l *slog.Logger, ctx context.Context) *slog.Logger {
	r := requestOf(ctx)
	return l.With("request_id", r.id, "trace_id", r.traceID)
}
