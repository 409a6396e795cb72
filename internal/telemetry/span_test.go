package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"rowmill/internal/telemetry"
)

func newTracer() (*telemetry.Tracer, *tracetest.SpanRecorder) {
	kept := tracetest.NewSpanRecorder()
	return telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))), kept
}

// Without a tracer a trace is handed on and nothing is recorded.
func TestNoTracerHandsTracesOn(t *testing.T) {
	var none *telemetry.Tracer
	ctx, span := none.Enter(t.Context(), traceParent, telemetry.Entry{Name: "in"})
	span.Set(telemetry.Number("rows", 1))
	span.Rename("another")
	span.Fail("broken")
	span.End(errors.New("broken"))
	if got := telemetry.TraceParent(ctx); got != traceParent || span != nil {
		t.Errorf("got %q, %v", got, span)
	}
	below, inner := telemetry.Start(ctx, "below", telemetry.Internal)
	if below != ctx || inner != nil {
		t.Error("a span was begun below none")
	}
}

func TestSpansStandBelowThoseOfTheirContext(t *testing.T) {
	tracer, kept := newTracer()
	ctx, in := tracer.Enter(t.Context(), traceParent, telemetry.Entry{Name: "in", Kind: telemetry.ServerSide, Always: true})
	_, call := telemetry.Start(ctx, "call", telemetry.ClientSide, telemetry.Number("rows", 3), telemetry.Text("queue", "small"),
		telemetry.Seconds("took", 1500*time.Millisecond))
	call.End(nil)
	in.End(nil)
	spans := kept.Ended()
	if len(spans) != 2 || spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() || spans[1].Parent().TraceID().String() != traceID {
		t.Fatalf("the spans are %v", spans)
	}
	got := map[string]string{}
	for _, a := range spans[0].Attributes() {
		got[string(a.Key)] = a.Value.String()
	}
	if diff := cmp.Diff(map[string]string{"rows": "3", "queue": "small", "took": "1.5"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if spans[1].SpanKind() != trace.SpanKindServer || spans[0].SpanKind() != trace.SpanKindClient {
		t.Errorf("the kinds are %v and %v", spans[1].SpanKind(), spans[0].SpanKind())
	}
}

func TestUntracedKeepsTheTraceAndRecordsNothing(t *testing.T) {
	tracer, kept := newTracer()
	ctx, _ := tracer.Enter(t.Context(), traceParent, telemetry.Entry{Name: "in"})
	quiet := telemetry.Untraced(ctx)
	if _, span := telemetry.Start(quiet, "below", telemetry.Internal); span != nil {
		t.Error("a span was begun")
	}
	c := trace.SpanContextFromContext(quiet)
	if c.TraceID().String() != traceID || c.IsSampled() || len(kept.Started()) != 1 {
		t.Errorf("the context is %v", c)
	}
	// The next process records nothing either.
	if _, next := tracer.Enter(t.Context(), telemetry.TraceParent(quiet), telemetry.Entry{Name: "next"}); next == nil || len(kept.Started()) != 1 {
		t.Error("the next process recorded it")
	}
	if got := telemetry.TraceParent(telemetry.Untraced(t.Context())); got != "" {
		t.Errorf("outside of a trace it makes %q", got)
	}
}

type duplicate struct{ value string }

func (d duplicate) Error() string { return "duplicate entry " + d.value }

// Of an error a span has the type and never the text, which may quote a value.
func TestASpanHasAnErrorsTypeAlone(t *testing.T) {
	for want, err := range map[string]error{
		"telemetry_test.duplicate": fmt.Errorf("insert: %w", duplicate{"ann@example"}),
		"canceled":                 fmt.Errorf("read: %w", context.Canceled),
		"timeout":                  errors.Join(errors.New("read"), context.DeadlineExceeded),
		"*errors.errorString":      fmt.Errorf("%w (%w)", errors.New("first"), duplicate{"ann@example"}),
	} {
		tracer, kept := newTracer()
		_, span := tracer.Enter(t.Context(), "", telemetry.Entry{Name: "in"})
		span.End(err)
		s := kept.Ended()[0]
		if s.Status().Code != codes.Error || s.Status().Description != "" || len(s.Events()) != 0 {
			t.Errorf("%v: the status is %+v, the events %v", err, s.Status(), s.Events())
		}
		if at := s.Attributes(); len(at) != 1 || at[0].Value.String() != want {
			t.Errorf("%v: the attributes are %v, want %s", err, at, want)
		}
	}
}
