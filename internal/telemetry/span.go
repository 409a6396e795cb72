package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation, as OpenTelemetry asks for.
const scope = "rowmill"

// AlwaysSampled is the attribute by which a span says, at its start, that its
// trace is kept whatever the ratio.
const AlwaysSampled = "rowmill.always_sampled"

// Kind is which side of a call a span is of.
type Kind int

// Kinds of spans, as OpenTelemetry has them.
const (
	Internal   Kind = iota // within the process
	ServerSide             // of a call that is answered
	ClientSide             // of a call that is made
	Producer               // of a message that is sent
	Consumer               // of a message that is worked on
)

var spanKinds = map[Kind]trace.SpanKind{
	Internal: trace.SpanKindInternal, ServerSide: trace.SpanKindServer, ClientSide: trace.SpanKindClient,
	Producer: trace.SpanKindProducer, Consumer: trace.SpanKindConsumer,
}

// Tracer begins spans where work comes into the process. All further spans are
// begun from their parent by Start. A nil Tracer begins none, and traces are
// handed on all the same.
type Tracer struct{ tracer trace.Tracer }

// NewTracer returns a tracer whose spans go to the provider.
func NewTracer(p trace.TracerProvider) *Tracer { return &Tracer{p.Tracer(scope)} }

// Attr is what a span says of itself, by a name of OpenTelemetry's or of ours.
type Attr = attribute.KeyValue

// Text is an attribute of one of few texts, or an id.
func Text(key, value string) Attr { return attribute.String(key, value) }

// Number is an attribute that counts.
func Number[N int | int64](key string, n N) Attr { return attribute.Int64(key, int64(n)) }

// Seconds is an attribute that measures time.
func Seconds(key string, d time.Duration) Attr { return attribute.Float64(key, d.Seconds()) }

// Entry is a span that begins where work comes into the process.
type Entry struct {
	Name   string
	Kind   Kind
	Always bool // its trace is kept whatever the ratio
	Attrs  []Attr
}

// Enter goes on with the trace of a W3C traceparent, or begins one if that is
// empty or not valid, and begins a span in it.
func (t *Tracer) Enter(ctx context.Context, traceparent string, e Entry) (context.Context, *Span) {
	if t == nil {
		return WithTraceParent(ctx, traceparent), nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	attrs := slices.Clone(e.Attrs)
	if e.Always {
		attrs = append(attrs, attribute.Bool(AlwaysSampled, true))
	}
	ctx, s := t.tracer.Start(ctx, e.Name, trace.WithSpanKind(spanKinds[e.Kind]), trace.WithAttributes(attrs...))
	return ctx, &Span{s}
}

// Start begins a span below the one of ctx. Where that is not recorded, or there
// is none, it costs nothing and gives ctx and nil, which has Span's methods.
func Start(ctx context.Context, name string, kind Kind, attrs ...Attr) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	ctx, s := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(spanKinds[kind]), trace.WithAttributes(attrs...))
	return ctx, &Span{s}
}

// Untraced gives a context of the same trace under which nothing is recorded, here
// or in the processes that it calls: for what is done too often to be told each time.
func Untraced(ctx context.Context) context.Context {
	c := trace.SpanContextFromContext(ctx)
	return trace.ContextWithSpanContext(ctx, c.WithTraceFlags(c.TraceFlags().WithSampled(false)))
}

// Span is a part of a trace. Its attributes hold no value of a statement, no
// personal data and no secret. All methods do nothing on nil.
type Span struct{ span trace.Span }

// Set adds attributes.
func (s *Span) Set(attrs ...Attr) {
	if s != nil {
		s.span.SetAttributes(attrs...)
	}
}

// Rename gives the span another name.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Fail marks the span as failed, by a type of error that is one of few.
func (s *Span) Fail(errorType string) {
	if s != nil {
		s.span.SetStatus(codes.Error, "")
		s.span.SetAttributes(attribute.String("error.type", errorType))
	}
}

// End ends the span, as failed if err is not nil. Of the error it tells the type
// alone, as texts may quote values; the log has it under the trace's id.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.Fail(errorType(err))
	}
	s.span.End()
}

// errorType names the kind of the innermost error.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for {
		var inner error
		switch e := err.(type) { //nolint:errorlint // it walks down the chain itself
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		}
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
