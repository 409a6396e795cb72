package tracing

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"rowmill/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain forgets what of OpenTelemetry the tests' own environment says.
func plain(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

func TestNobodyIsCalledUnlessACollectorIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		env map[string]string
		on  bool
	}{
		"nothing is set":         {nil, false},
		"an empty address":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, false},
		"an address":             {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		"an address of traces":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true},
		"an address, turned off": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			plain(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			tracer, end, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if (tracer != nil) != c.on {
				t.Errorf("on: %v, want %v", tracer != nil, c.on)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was recorded last is sent before the process ends, with what it says of itself.
func TestTheEndSendsWhatWaits(t *testing.T) {
	plain(t)
	var got collector.ExportTraceServiceRequest
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(b, &got)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // no batch is due in this test
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	tracer, end, err := Open(t.Context(), Config{Version: "1.2.3", Role: "worker", Ratio: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Enter(t.Context(), "", telemetry.Entry{Name: "last words"})
	span.End(nil)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if len(got.GetResourceSpans()) != 1 || got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName() != "last words" {
		t.Fatalf("the collector has %v", &got)
	}
	said := map[string]string{}
	for _, a := range got.GetResourceSpans()[0].GetResource().GetAttributes() {
		said[a.GetKey()] = a.GetValue().GetStringValue()
	}
	for key, want := range map[string]string{"service.name": "rowmill", "service.version": "1.2.3", "rowmill.roles": "worker", "deployment.environment": "test"} {
		if said[key] != want {
			t.Errorf("%s is %q, want %q", key, said[key], want)
		}
	}
}

func TestExportsAreSampledWhateverTheRatio(t *testing.T) {
	const sampled, not = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	for name, c := range map[string]struct {
		ratio  float64
		parent string
		always bool
		want   int // spans, with one below
	}{
		"an export, by ratio 0":                    {0, "", true, 2},
		"an export that its caller did not sample": {0, not, true, 2},
		"another call, by ratio 0":                 {0, "", false, 0},
		"another call, by ratio 1":                 {1, "", false, 2},
		"another call of a sampled trace":          {0, sampled, false, 2},
		"another call of a trace that is not":      {1, not, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			kept := tracetest.NewSpanRecorder()
			tracer := telemetry.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept), sdktrace.WithSampler(exportsFirst{sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.ratio))})))
			ctx, span := tracer.Enter(t.Context(), c.parent, telemetry.Entry{Name: "in", Always: c.always})
			_, below := telemetry.Start(ctx, "below", telemetry.Internal)
			below.End(nil)
			span.End(nil)
			if got := len(kept.Ended()); got != c.want {
				t.Errorf("%d spans, want %d", got, c.want)
			}
			if parent := telemetry.TraceParent(ctx); strings.HasSuffix(parent, "-01") != (c.want > 0) {
				t.Errorf("the next process is told %s", parent)
			}
		})
	}
}

// A collector that never answers holds nobody up but the end, and that by a bound.
func TestASilentCollectorHoldsNobodyUp(t *testing.T) {
	plain(t)
	var asked atomic.Int64
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or it does not see its caller leave
		asked.Add(1)
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer srv.Close()
	defer close(release)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	var log bytes.Buffer
	tracer, end, err := Open(t.Context(), Config{Ratio: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // far past the queue: were one waited for, this would never end
		_, span := tracer.Enter(t.Context(), "", telemetry.Entry{Name: "in"})
		span.End(nil)
	}
	if err := end(); err != nil {
		t.Fatalf("the lost traces fail the end: %v", err)
	}
	if asked.Load() == 0 || !strings.Contains(log.String(), "traces are lost") {
		t.Errorf("after %d calls of the collector the log has: %s", asked.Load(), log.String())
	}
}

func TestACollectorThatIsAwayIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &errorLog{log: slog.New(slog.NewTextHandler(&log, nil))}
		for range 30 {
			r.Handle(errors.New("refused"))
			time.Sleep(5 * time.Second)
		}
		if got := strings.Count(log.String(), "traces are lost"); got != 3 {
			t.Errorf("%d lines in 150 s", got)
		}
	})
}
