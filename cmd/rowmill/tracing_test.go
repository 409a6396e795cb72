package main

import (
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"rowmill/export"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

const (
	clickTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	clickParent = "00-" + clickTrace + "-00f067aa0ba902b7-00" // which the browser did not sample
)

// order places an order as a browser with a trace does, and waits for its end.
func order(t *testing.T, a *app, c *exportclient.Client, traceparent, body string) exportclient.Job {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.gateway.url()+"/api/v1/exports", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	at := strings.Split(resp.Header.Get("Location"), "/")
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("the order is answered with %s", resp.Status)
	}
	job := awaitJob(t, c, at[len(at)-1], ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	return job
}

// One trace leads from the click to each statement, though nothing else is sampled.
func TestOneTraceFromTheClickToTheStatements(t *testing.T) {
	collector := newCollector(t)
	a, c := boot(t, 60, func(cfg *config.Config) { cfg.TraceRatio, cfg.PageSize = 0, 10 })
	job := order(t, a, c, clickParent, `{"columns":["code","guest_name","amount"],"sort":"check_in"}`)
	wanted := []string{
		"… > POST /api/v1/exports",
		"… > POST /api/v1/exports > INSERT export_jobs",
		"… > POST /api/v1/exports > send rowmill:small",
		"… > POST /api/v1/exports > export attempt",
		"… > POST /api/v1/exports > export attempt > export snapshot > POST /internal/v1/reservations/snapshot > POST /internal/v1/reservations/snapshot > SELECT reservations",
		"… > POST /api/v1/exports > export attempt > export fetch > fetch page > POST /internal/v1/reservations/batch-get > POST /internal/v1/reservations/batch-get > SELECT reservations",
		"… > POST /api/v1/exports > export attempt > export fetch > fetch page > POST /internal/v1/reservations/batch-get > POST /internal/v1/reservations/batch-get > SELECT guests",
		"… > POST /api/v1/exports > export attempt > export verify",
		"… > POST /api/v1/exports > export attempt > export publish > UPDATE export_jobs",
	}
	var lines map[string]int
	until(t, "the whole trace has come", func() bool {
		lines = map[string]int{}
		trace := collector.trace(t, clickTrace)
		for _, s := range trace {
			lines[ancestry(trace, s)]++
		}
		return !slices.ContainsFunc(wanted, func(w string) bool { return lines[w] == 0 })
	})
	if pages := lines["… > POST /api/v1/exports > export attempt > export fetch > fetch page"]; pages != 6 {
		t.Errorf("%d pages have a span, want 6: %v", pages, slices.Sorted(maps.Keys(lines)))
	}
	for line := range lines {
		if strings.Count(line, "…") != 1 || !strings.HasPrefix(line, "… > POST /api/v1/exports") {
			t.Errorf("the span %s hangs elsewhere", line)
		}
	}
	trace := collector.trace(t, clickTrace)
	for _, s := range trace {
		if at := attributesOf(s); s.GetName() == "export attempt" && (at["rowmill.job_id"] != job.ID || at["rowmill.attempt"] != "1" || at["rowmill.outcome"] != "succeeded") {
			t.Errorf("the attempt says %v", at)
		}
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	for _, s := range collector.spans { // polls of the job, the list, the sweeper: not sampled
		if trace[hexOf(s)] == nil {
			t.Errorf("with the ratio 0 the span %s was sent", s.GetName())
		}
	}
}

// What a span says is of a few kinds, and none is a value of a row or a secret.
func TestTracesHoldNoValueNoPersonAndNoSecret(t *testing.T) {
	collector := newCollector(t)
	a, c := boot(t, 60, func(cfg *config.Config) { cfg.TraceRatio = 1 })
	order(t, a, c, clickParent, `{"columns":["guest_name"],"filter":{"q":["Kim-geheim"],"id_lte":["54321"]},"personal":true,"reason":"a private reason","file_name":"my-own-name.xlsx"}`)
	list := call(t, a, "GET", "/api/v1/reservations?q=Kim-geheim&id_lte=54321", "")
	if list.status != http.StatusOK {
		t.Fatalf("the list: %d", list.status)
	}
	until(t, "the traces have come", func() bool {
		return collector.has("export attempt") && collector.has("GET /api/v1/reservations")
	})
	known := regexp.MustCompile(`^(rowmill\.(always_sampled|operation|statements|job_id|attempt|failures|outcome|code)|http\.(request\.method|route|response\.status_code)|url\.template|db\.(operation|collection)\.name|messaging\.(system|destination\.name)|attempt|page|rows|pages|pages_failed|page_seconds_(mean|max)|error\.type)$`)
	collector.mu.Lock()
	defer collector.mu.Unlock()
	for _, s := range collector.spans {
		for key := range attributesOf(s) {
			if !known.MatchString(key) {
				t.Errorf("the span %s has the attribute %s, of which nobody has said that it is harmless", s.GetName(), key)
			}
		}
		raw, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"geheim", "54321", testToken, serviceToken, "private", "my-own-name", "SELECT *", " WHERE "} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("the span %s has %q in it: %v", s.GetName(), secret, s)
			}
		}
	}
}

// A collector that takes connections and never answers keeps no export waiting.
func TestACollectorThatIsAwaySlowsNoExport(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // nobody was answered
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+silent.Addr().String())
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4") // full after some spans, which an export must not mind
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	a, c := boot(t, 60, func(cfg *config.Config) { cfg.PageSize = 10 })
	for range 3 {
		if job := order(t, a, c, "", `{"format":"csv"}`); job.RowsWritten != 60 {
			t.Errorf("%d rows", job.RowsWritten)
		}
	}
}
