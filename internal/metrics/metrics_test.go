package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"rowmill/export"
	"rowmill/export/sheet"
)

type fakeTable struct {
	asked    int
	standing func(ctx context.Context) (export.Standing, error)
}

func (f *fakeTable) Standing(ctx context.Context, _ time.Time) (export.Standing, error) {
	f.asked++
	return f.standing(ctx)
}

func standing(context.Context) (export.Standing, error) {
	return export.Standing{Workers: 2, Queues: map[export.Queue]export.QueueStanding{
		export.QueueLarge: {Due: 3, Later: 1, Running: 2, Oldest: 90 * time.Second},
	}}, nil
}

type fakePool struct{}

func (fakePool) Usage() (limit, taken, waiting int) { return 8, 5, 3 }

type fakeKept struct{ n int }

func (k fakeKept) Retain(context.Context, time.Time, int) (int, error) {
	return k.n, errors.New("then it broke")
}

// used are metrics of which each has been counted once.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := New("1.2.3", slog.New(slog.DiscardHandler))
	m.Watch(&fakeTable{standing: standing}, map[string]Check{
		"redis": func(context.Context) error { return nil },
		"files": func(context.Context) error { return errors.New("full") },
	})
	m.Pool("fetch", fakePool{})
	m.PhaseEnded(export.PhaseFetch, time.Second)
	m.RowsWritten(7)
	m.RowsWritten(-7) // a run that begins anew
	m.Published(export.Receipt{Bytes: 1 << 20, Losses: sheet.Losses{Counts: map[sheet.LossKind]int64{sheet.Cut: 4}}})
	m.JobEnded("succeeded", "none")
	m.Swept("lost", 2)
	m.APICalled("batch", "ok", time.Millisecond)
	m.PageStatements(6)
	m.Request("list-exports", 200, time.Millisecond)
	m.Shed("pages")
	m.Segment(export.SegmentMade)
	m.OrderRefused("full")
	m.CacheEvent("first-hit")
	if n, err := m.Retained("row-sets", fakeKept{5}).Retain(t.Context(), time.Time{}, 10); n != 5 || err == nil {
		t.Errorf("what counts gives %d, %v", n, err)
	}
	return m
}

// The names and their labels are a contract with dashboards and alerts.
func TestTheMetricsAndTheirLabels(t *testing.T) {
	families, err := used(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "rowmill_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got = append(got, fmt.Sprintf("%s{%s} %s", f.GetName(), strings.Join(labels, ","), strings.ToLower(f.GetType().String())))
	}
	want := []string{
		"rowmill_api_call_seconds{call,outcome} histogram", "rowmill_api_shed_total{class} counter", "rowmill_build_info{version} gauge",
		"rowmill_cache_events_total{event} counter",
		"rowmill_cells_lost_total{kind} counter", "rowmill_file_bytes{} histogram", "rowmill_http_request_seconds{operation,status} histogram",
		"rowmill_jobs{queue,state} gauge", "rowmill_jobs_ended_total{code,outcome} counter", "rowmill_orders_refused_total{reason} counter",
		"rowmill_page_statements{} histogram", "rowmill_phase_seconds{phase} histogram", "rowmill_pool_slots{pool} gauge",
		"rowmill_pool_taken{pool} gauge", "rowmill_pool_waiting{pool} gauge", "rowmill_queue_age_seconds{queue} gauge",
		"rowmill_retention_removed_total{kind} counter", "rowmill_rows_written_total{} counter", "rowmill_scrape_ok{source} gauge",
		"rowmill_segments_total{outcome} counter", "rowmill_sweeper_actions_total{action} counter", "rowmill_workers{} gauge",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrometheusOwnLinterFindsNothing(t *testing.T) {
	problems, err := testutil.GatherAndLint(used(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestWhatIsCountedIsShown(t *testing.T) {
	m := used(t)
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	lines := strings.Split(rec.Body.String(), "\n")
	for _, want := range []string{
		`rowmill_build_info{version="1.2.3"} 1`, `rowmill_rows_written_total 7`, `rowmill_cells_lost_total{kind="cut"} 4`,
		`rowmill_jobs{queue="large",state="queued"} 3`, `rowmill_jobs{queue="large",state="scheduled"} 1`, `rowmill_jobs{queue="large",state="running"} 2`,
		`rowmill_jobs{queue="small",state="queued"} 0`, `rowmill_queue_age_seconds{queue="large"} 90`, `rowmill_queue_age_seconds{queue="small"} 0`,
		`rowmill_cache_events_total{event="first-hit"} 1`, `rowmill_workers 2`, `rowmill_scrape_ok{source="sql"} 1`, `rowmill_scrape_ok{source="redis"} 1`, `rowmill_scrape_ok{source="files"} 0`, `rowmill_pool_slots{pool="fetch"} 8`, `rowmill_pool_taken{pool="fetch"} 5`,
		`rowmill_pool_waiting{pool="fetch"} 3`, `rowmill_jobs_ended_total{code="none",outcome="succeeded"} 1`, `rowmill_sweeper_actions_total{action="lost"} 2`,
		`rowmill_sweeper_actions_total{action="expired"} 0`, `rowmill_retention_removed_total{kind="row-sets"} 5`,
		`rowmill_http_request_seconds_count{operation="list-exports",status="200"} 1`, `rowmill_page_statements_bucket{le="6"} 1`, `rowmill_page_statements_bucket{le="5"} 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no line %s", want)
		}
	}
	for _, runtime := range []string{"go_goroutines ", "process_cpu_seconds_total "} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, runtime) }) {
			t.Errorf("there is no line of %s", runtime)
		}
	}
}

// A database that is gone or hangs takes its own metrics away and no others.
func TestADeadDatabaseFailsNoScrape(t *testing.T) {
	for name, read := range map[string]func(context.Context) (export.Standing, error){
		"gone":  func(context.Context) (export.Standing, error) { return export.Standing{}, errors.New("gone") },
		"hangs": func(ctx context.Context) (export.Standing, error) { <-ctx.Done(); return export.Standing{}, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New("1", slog.New(slog.DiscardHandler))
				m.Watch(&fakeTable{standing: read}, map[string]Check{"redis": func(context.Context) error { return nil }})
				m.RowsWritten(3)
				began := time.Now()
				rec := httptest.NewRecorder()
				m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				if took := time.Since(began); took > tableTimeout {
					t.Errorf("the scrape takes %v", took)
				}
				body := rec.Body.String()
				if rec.Code != 200 || !strings.Contains(body, "\nrowmill_scrape_ok{source=\"sql\"} 0\n") || !strings.Contains(body, "\nrowmill_rows_written_total 3\n") || !strings.Contains(body, "\nrowmill_scrape_ok{source=\"redis\"} 1\n") {
					t.Errorf("%d:\n%s", rec.Code, body)
				}
				if strings.Contains(body, "rowmill_jobs{") || strings.Contains(body, "rowmill_workers ") {
					t.Error("it tells what it does not know")
				}
			})
		})
	}
}

func TestTheTableIsReadOnceInFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &fakeTable{standing: standing}
		m := New("1", slog.New(slog.DiscardHandler))
		m.Watch(table, nil)
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {0, 1}, {4 * time.Second, 1}, {time.Second, 2}, {0, 2}} {
			time.Sleep(step.wait)
			if _, err := m.registry.Gather(); err != nil {
				t.Fatal(err)
			}
			if table.asked != step.want {
				t.Errorf("after %v more it was read %d times, want %d", step.wait, table.asked, step.want)
			}
		}
	})
}

// Whoever invents values for a label does not fill Prometheus with series.
func TestALabelHasABoundedNumberOfValues(t *testing.T) {
	m := New("1", slog.New(slog.DiscardHandler))
	for i := range 5 * maxValues {
		made := fmt.Sprint("made-up-", i)
		m.JobEnded(made, "none")
		m.APICalled(made, "ok", 0)
		m.Request(made, 200, 0)
		m.Shed(made)
		m.Segment(export.SegmentOutcome(made))
		m.OrderRefused(made)
		m.CacheEvent(made)
		m.Swept(made, 1)
		m.PhaseEnded(export.Phase(made), 0)
		m.Published(export.Receipt{Losses: sheet.Losses{Counts: map[sheet.LossKind]int64{sheet.LossKind(made): 1}}})
	}
	m.JobEnded("made-up-0", "none") // what is known stays known
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		values := map[string]map[string]bool{}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if values[l.GetName()] == nil {
					values[l.GetName()] = map[string]bool{}
				}
				values[l.GetName()][l.GetValue()] = true
			}
		}
		for label, seen := range values {
			if len(seen) > maxValues {
				t.Errorf("%s{%s} has %d values", f.GetName(), label, len(seen))
			}
			if len(seen) == maxValues && !seen[other] {
				t.Errorf("%s{%s} has no %q for the rest", f.GetName(), label, other)
			}
		}
	}
	if got := testutil.ToFloat64(m.ended.vec.WithLabelValues("made-up-0", "none")); got != 2 {
		t.Errorf("a known value was counted %v times, want 2", got)
	}
	if got := testutil.ToFloat64(m.shed.vec.With(prometheus.Labels{"class": other})); got != 4*maxValues+1 {
		t.Errorf("the rest was counted %v times", got)
	}
}
