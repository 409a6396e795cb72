package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/telemetry"
)

// Each call is counted by its operation and status, and never by what it asks for.
func TestCallsAreCountedByOperation(t *testing.T) {
	var mu sync.Mutex
	var told []string
	w := newWorld(t, func(_ *world, c *gateway.Config) {
		c.Answered = func(operation string, status int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(operation, " ", status))
		}
	})
	view := decode[gateway.JobView](t, w.call("POST", exportsPath, `{}`).Body)
	w.call("GET", exportsPath+"/"+view.ID, "")
	w.call("GET", exportsPath+"/none", "")
	w.call("GET", exportsPath, "", "Authorization", "Bearer wrong")
	w.call("GET", "/no/such/path-4711", "")
	w.call("GET", "/livez", "")
	w.call("HEAD", "/livez", "")
	w.call("BREW", exportsPath, "")
	w.jobs.change(view.ID, func(j *export.Job) { j.Status = export.Canceled }) // so that the stream ends
	w.call("GET", exportsPath+"/"+view.ID+"/events", "")
	want := []string{"create-export 202", "get-export 200", "get-export 404", "list-exports 401", "other 404", "livez 200", "livez 405", "other 405"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A call's span has its route, and an order's trace goes on from it.
func TestCallsHaveASpan(t *testing.T) {
	kept := tracetest.NewSpanRecorder()
	tracer := telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept)))
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.Tracer = tracer })
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	view := decode[gateway.JobView](t, w.call("POST", exportsPath, `{}`, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01").Body)
	w.call("GET", "/secret-path?token=x", "")
	w.call("GET", "/readyz", "")
	spans := kept.Ended()
	if len(spans) != 2 || spans[0].Name() != "POST "+exportsPath || spans[1].Name() != "GET" {
		t.Fatalf("the spans are %v", spans)
	}
	job, err := w.jobs.Get(t.Context(), view.ID)
	if want := "00-" + trace + "-" + spans[0].SpanContext().SpanID().String() + "-01"; err != nil || job.TraceParent != want {
		t.Errorf("the job's trace is %s, %v, want %s", job.TraceParent, err, want)
	}
	always := func(s sdktrace.ReadOnlySpan) bool {
		return slices.ContainsFunc(s.Attributes(), func(a attribute.KeyValue) bool { return string(a.Key) == telemetry.AlwaysSampled })
	}
	if !always(spans[0]) || always(spans[1]) {
		t.Error("not the order, and it alone, is sampled whatever the ratio")
	}
	for _, a := range spans[1].Attributes() {
		if strings.Contains(a.Value.String(), "secret") {
			t.Errorf("%s has the caller's path", a.Key)
		}
	}
}
