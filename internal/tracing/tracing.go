// Package tracing sends the process's traces to a collector, by OTLP over HTTP,
// and decides which are sent. It alone knows OpenTelemetry's SDK; everybody else
// begins spans by way of internal/telemetry.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"rowmill/internal/telemetry"
)

// Config is what a process says of itself and how much it sends. Where to, and
// under which limits, OpenTelemetry's own OTEL_* variables say.
type Config struct {
	Version string
	Role    string       // what the process plays
	Ratio   float64      // of the traces that no export began, 0 to 1
	Logger  *slog.Logger // of a collector that does not take them
}

// flushTimeout is how long the end of the process waits for a collector.
const flushTimeout = 3 * time.Second

// collectorNamed reports whether the environment names a collector.
func collectorNamed() bool {
	at := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return at != "" && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")
}

// Open returns the tracer of the process and what ends it: the latter sends what
// waits, for at most three seconds. Without a collector the tracer is nil, which
// hands traces on and records nothing. Nothing waits for the collector: what it
// does not take in time is dropped.
func Open(ctx context.Context, c Config) (*telemetry.Tracer, func() error, error) {
	if !collectorNamed() {
		return nil, func() error { return nil }, nil
	}
	errs := &errorLog{log: c.Logger}
	otel.SetErrorHandler(errs) // the SDK has one for the process, which else prints
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("send traces by OTLP: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(exportsFirst{sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Ratio))}),
		sdktrace.WithResource(resourceOf(ctx, c)),
	)
	closeAll := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout) // the process's own has ended by then
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			errs.Handle(err) // traces that are lost fail nothing
		}
		return nil
	}
	return telemetry.NewTracer(provider), closeAll, nil
}

// resourceOf is the process: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
func resourceOf(ctx context.Context, c Config) *resource.Resource {
	own := resource.NewSchemaless(attribute.String("service.name", "rowmill"),
		attribute.String("service.version", c.Version), attribute.String("rowmill.roles", c.Role))
	given, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err == nil {
		var merged *resource.Resource
		if merged, err = resource.Merge(own, given); err == nil {
			return merged
		}
	}
	c.Logger.WarnContext(ctx, "the environment's description of the process is not valid", "error", err)
	return own
}

// exportsFirst samples what belongs to an export always and leaves the rest to others.
type exportsFirst struct{ others sdktrace.Sampler }

func (s exportsFirst) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for _, a := range p.Attributes {
		if a.Key == telemetry.AlwaysSampled {
			return sdktrace.AlwaysSample().ShouldSample(p)
		}
	}
	return s.others.ShouldSample(p)
}

func (s exportsFirst) Description() string { return "exports, else " + s.others.Description() }

// errorLog logs the SDK's errors, at most one a minute: a collector that is away
// fails every few seconds.
type errorLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	next time.Time
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.After(l.next) {
		l.next = now.Add(time.Minute)
		l.log.Warn("traces are lost: the collector does not take them", "error", err)
	}
}
