package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"rowmill/internal/config"
)

// admin asks a process's admin address.
func admin(t *testing.T, a *app, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + a.admin.ln.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// The admin address says how each dependency is, and what the process has done.
func TestTheAdminAddressTellsHowTheProcessIs(t *testing.T) {
	a, c := boot(t, 60, func(cfg *config.Config) { cfg.AdminAddr, cfg.PageSize = "127.0.0.1:0", 10 })
	until(t, "the process is ready", func() bool { code, _ := admin(t, a, "/readyz"); return code == http.StatusOK })
	if _, body := admin(t, a, "/readyz"); body != "files is ready\nredis is ready\nreservations is ready\nschema is ready\nsql is ready\nworker is ready\n" {
		t.Errorf("ready, it says:\n%s", body)
	}
	for path, want := range map[string]int{"/livez": http.StatusNoContent, "/debug/pprof/": http.StatusOK, "/debug/pprof/goroutine": http.StatusOK, "/other": http.StatusNotFound} {
		if code, _ := admin(t, a, path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	order(t, a, c, "", `{"columns":["id","guest_name"]}`)
	var body string
	lines := []string{
		`rowmill_jobs_ended_total{code="none",outcome="succeeded"} 1`, `rowmill_rows_written_total 60`, `rowmill_file_bytes_count 1`,
		`rowmill_phase_seconds_count{phase="snapshot"} 1`, `rowmill_phase_seconds_count{phase="fetch"} 1`, `rowmill_phase_seconds_count{phase="verify"} 1`,
		`rowmill_phase_seconds_count{phase="publish"} 1`, `rowmill_page_statements_count 6`, `rowmill_page_statements_sum 12`,
		`rowmill_api_call_seconds_count{call="batch",outcome="ok"} 6`, `rowmill_api_call_seconds_count{call="snapshot",outcome="ok"} 1`,
		`rowmill_http_request_seconds_count{operation="create-export",status="202"} 1`, `rowmill_http_request_seconds_count{operation="reservations-batch",status="200"} 6`,
		`rowmill_pool_slots{pool="encode"} `, `rowmill_pool_taken{pool="fetch"} 0`, `rowmill_scrape_ok{source="sql"} 1`, `rowmill_workers 1`,
		`rowmill_jobs{queue="small",state="queued"} `, `rowmill_queue_age_seconds{queue="large"} 0`, `rowmill_sweeper_actions_total{action="lost"} 0`,
		`rowmill_build_info{version="development"} 1`, `go_goroutines `, `process_open_fds `,
	}
	until(t, "the last count is there", func() bool { // the job's end can be seen a moment before it is counted
		_, body = admin(t, a, "/metrics")
		return strings.Contains(body, lines[0])
	})
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("there is no %s", line)
		}
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "rowmill_") && (strings.Contains(line, "developer") || strings.Contains(line, "exports/")) {
			t.Errorf("a label names somebody's: %s", line)
		}
	}
}

// What fails is named first, the rest after it, and a scrape is answered all the same.
func TestReadinessNamesWhatFailsAndAScrapeIsAnswered(t *testing.T) {
	a, _ := boot(t, 0, func(cfg *config.Config) { cfg.AdminAddr = "127.0.0.1:0" })
	until(t, "the process is ready", func() bool { code, _ := admin(t, a, "/readyz"); return code == http.StatusOK })
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
	code, body := admin(t, a, "/readyz")
	if want := "schema is not ready\nsql is not ready\nfiles is ready\nredis is ready\nreservations is ready\n"; code != http.StatusServiceUnavailable || !strings.HasPrefix(body, want) {
		t.Errorf("%d:\n%s", code, body)
	}
	if code, body := admin(t, a, "/metrics"); code != http.StatusOK || !strings.Contains(body, "\nrowmill_scrape_ok{source=\"sql\"} 0\n") || !strings.Contains(body, "\ngo_goroutines ") {
		t.Errorf("%d: %.500s", code, body)
	}
}

// An address without a host, as in a container, can be asked for health.
func TestHealthOfAnAddressOnAllInterfaces(t *testing.T) {
	a, _ := boot(t, 0, func(cfg *config.Config) { cfg.AdminAddr = ":0" })
	port := a.admin.ln.Addr().String()
	port = port[strings.LastIndex(port, ":"):]
	until(t, "the process is ready", func() bool { code, _ := admin(t, a, "/readyz"); return code == http.StatusOK })
	out, _ := rowmill(t.Context(), t, 0, "health", "--admin-addr="+port)
	has(t, "health", out, "ready")
}
