package telemetry

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

type jobKey struct{}

// WithJob returns a context whose log lines carry the job's id.
func WithJob(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, jobKey{}, id)
}

// WithTraceParent returns a context that continues the trace of a W3C
// traceparent; one that is empty or not valid begins a new trace.
func WithTraceParent(ctx context.Context, traceparent string) context.Context {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	var c trace.SpanContextConfig
	_, _ = rand.Read(c.TraceID[:]) // never fails (crypto/rand)
	_, _ = rand.Read(c.SpanID[:])
	c.TraceFlags = trace.FlagsSampled
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(c))
}

// TraceParent gives the W3C traceparent of ctx, "" if it belongs to no trace.
func TraceParent(ctx context.Context) string {
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c["traceparent"]
}

// NewLogger returns a logger that writes lines of the format ("text" or "json")
// to w, each with the trace and the job its context belongs to.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(contextHandler{slog.NewJSONHandler(w, opts)})
	}
	return slog.New(contextHandler{slog.NewTextHandler(w, opts)})
}

type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()))
	}
	if id, ok := ctx.Value(jobKey{}).(string); ok {
		r.AddAttrs(slog.String("job_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
