package export

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"rowmill/internal/telemetry"
)

// recorded gives a context whose spans are kept.
func recorded(t *testing.T) (context.Context, *telemetry.Span, *tracetest.SpanRecorder) {
	t.Helper()
	kept := tracetest.NewSpanRecorder()
	tracer := telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept)))
	ctx, span := tracer.Enter(t.Context(), "", telemetry.Entry{Name: "attempt"})
	return ctx, span, kept
}

// A job of a thousand pages has a score of spans, and says all the same what its
// pages took.
func TestTheSpansOfAJobAreFewWhateverItsPages(t *testing.T) {
	ctx, _, kept := recorded(t)
	var pages pageTracer
	clock := time.Unix(0, 0)
	now := func() time.Time { return clock }
	traceID := trace.SpanContextFromContext(ctx).TraceID()
	below := 0
	for n := range 1000 {
		ctx, end := pages.begin(ctx, 10, now)
		if trace.SpanContextFromContext(ctx).TraceID() != traceID {
			t.Fatal("a page has left the trace")
		}
		if trace.SpanContextFromContext(ctx).IsSampled() { // so that its calls are recorded elsewhere too
			below++
		}
		clock = clock.Add(time.Duration(n+1) * time.Millisecond)
		end(nil)
	}
	const want = tracedPages + 5 // 32, 64, 128, 256, 512
	if got := len(kept.Ended()); got != want || below != want {
		t.Errorf("%d pages have a span and %d hand it on, want %d", got, below, want)
	}
	_, end := pages.begin(ctx, 10, now)
	end(errors.New("broken"))
	got := map[string]string{}
	for _, a := range pages.summary() {
		got[string(a.Key)] = a.Value.String()
	}
	wanted := map[string]string{"pages": "1001", "pages_failed": "1", "page_seconds_mean": "0.5", "page_seconds_max": "1"}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
