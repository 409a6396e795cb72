package reservationhttp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// Each try is counted by how it ended.
func TestTriesAreCountedByTheirEnd(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		want    []string
	}{
		"whole":      {[]http.HandlerFunc{body(wholeBatch)}, []string{"batch ok"}},
		"busy first": {[]http.HandlerFunc{status(429, ""), body(wholeBatch)}, []string{"batch busy", "batch ok"}},
		"away first": {[]http.HandlerFunc{status(503, ""), body(wholeBatch)}, []string{"batch unavailable", "batch ok"}},
		"not whole":  {[]http.HandlerFunc{cut(wholeBatch[:9]), body(wholeBatch)}, []string{"batch broken", "batch ok"}},
		"refused":    {[]http.HandlerFunc{status(400, "")}, []string{"batch refused"}},
		"silent":     {[]http.HandlerFunc{silent, body(wholeBatch)}, []string{"batch timeout", "batch ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := answers(t, c.answers...)
			var got []string
			client.config.Called = func(call, outcome string, took time.Duration) {
				if took <= 0 {
					t.Errorf("it took %v", took)
				}
				got = append(got, call+" "+outcome)
			}
			if name == "silent" {
				client.config.Timeout = 50 * time.Millisecond
			}
			_, _, err := client.Batch(t.Context(), inTheClear, []int64{3, 2, 1}, fieldsOf(t, "id"))
			if (err != nil) != (name == "refused") {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestACanceledTryIsCountedAsThat(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client, _ := answers(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	var got []string
	client.config.Called = func(call, outcome string, _ time.Duration) { got = append(got, call+" "+outcome) }
	if _, err := client.Count(ctx, reservation.Query{}); err == nil {
		t.Error("it was answered")
	}
	if diff := cmp.Diff([]string{"list canceled"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A call has a span on each side, of one trace, with the statements it cost.
func TestACallHasASpanOnEachSide(t *testing.T) {
	kept := tracetest.NewSpanRecorder()
	tracer := telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept)))
	var mu sync.Mutex
	var told []string
	var statements []int64
	server := httptest.NewServer(NewServer(Config{Store: &fakeStore{ids: upTo(3)}, Token: testToken, Tracer: tracer,
		Answered: func(operation string, status int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(operation, " ", status))
		},
		PageStatements: func(n int64) { statements = append(statements, n) },
	}))
	defer server.Close()
	client := newTestClient(t, server.URL)
	ctx, span := tracer.Enter(t.Context(), "", telemetry.Entry{Name: "page"})
	if _, _, err := client.Batch(ctx, inTheClear, []int64{1, 2}, fieldsOf(t, "id", "guest_name")); err != nil {
		t.Fatal(err)
	}
	span.End(nil)
	if err := client.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	server.Close() // its spans have ended then
	spans := kept.Ended()
	at := func(name string, remote bool) sdktrace.ReadOnlySpan {
		i := slices.IndexFunc(spans, func(s sdktrace.ReadOnlySpan) bool { return s.Name() == name && s.Parent().IsRemote() == remote })
		if i < 0 {
			t.Fatalf("there is no %s among %v", name, spans)
		}
		return spans[i]
	}
	page, call, answer := at("page", false), at("POST "+pathBatch, false), at("POST "+pathBatch, true)
	if len(spans) != 3 || call.Parent().SpanID() != page.SpanContext().SpanID() || answer.Parent().SpanID() != call.SpanContext().SpanID() {
		t.Errorf("the spans do not hang together: %v", spans)
	}
	if diff := cmp.Diff([]string{"reservations-batch 200", "reservations-livez 200"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{2}, statements); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

func TestPingTellsAServerThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	client := newTestClient(t, server.URL)
	for range 2 {
		if err := client.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v", err)
		}
		server.Close()
	}
}
