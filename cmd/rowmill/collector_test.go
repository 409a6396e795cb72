package main

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// otlpCollector takes traces by OTLP over HTTP and keeps them.
type otlpCollector struct {
	mu    sync.Mutex
	spans []*otlp.Span
	errs  []error
}

// newCollector serves a collector and names it to the processes to come.
func newCollector(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100") // milliseconds
	return c
}

func (c *otlpCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in collector.ExportTraceServiceRequest
	err := func() error {
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			return fmt.Errorf("%s of %s", r.URL.Path, r.Header.Get("Content-Type"))
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				return err
			}
			body = z
		}
		b, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		return proto.Unmarshal(b, &in)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errs = append(c.errs, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, rs := range in.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// trace gives the spans of a trace that have come so far, by their ids.
func (c *otlpCollector) trace(t *testing.T, id string) map[string]*otlp.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.errs {
		t.Error(err)
	}
	found := map[string]*otlp.Span{}
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			found[hex.EncodeToString(s.GetSpanId())] = s
		}
	}
	return found
}

// has reports whether a span of the name has come.
func (c *otlpCollector) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.spans, func(s *otlp.Span) bool { return s.GetName() == name })
}

// ancestry gives the names from the trace's first span down to the span, "…"
// standing for a parent that has not come.
func ancestry(trace map[string]*otlp.Span, s *otlp.Span) string {
	names := []string{s.GetName()}
	for parent := hex.EncodeToString(s.GetParentSpanId()); parent != ""; {
		p := trace[parent]
		if p == nil {
			names = append(names, "…")
			break
		}
		names = append(names, p.GetName())
		parent = hex.EncodeToString(p.GetParentSpanId())
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

func attributesOf(s *otlp.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.GetAttributes() {
		out[a.GetKey()] = textOf(a.GetValue())
	}
	return out
}

func textOf(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	}
	return v.String()
}

func hexOf(s *otlp.Span) string { return hex.EncodeToString(s.GetSpanId()) }
