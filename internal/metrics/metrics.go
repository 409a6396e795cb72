// Package metrics counts what a process does and shows it to Prometheus. It alone
// knows Prometheus' client; the packages that do the work know it by functions and
// small interfaces of their own, which its methods fit.
//
// No label has a person, a job, a file or anything else that callers choose: the
// values of each are few and fixed, and past maxValues of them the rest are "other".
package metrics

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are a process's metrics. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	ended       *counter
	rows        prometheus.Counter
	phases      *histogram
	calls       *histogram
	statements  prometheus.Histogram
	losses      *counter
	fileBytes   prometheus.Histogram
	swept       *counter
	retained    *counter
	requests    *histogram
	shed        *counter
	segments    *counter
	refused     *counter
	cache       *counter
	pools       *pools
	errorLogger *slog.Logger
}

// Buckets, each from what is usual to what is a fault.
var (
	// A phase takes from some milliseconds (a verified small file) to the half hour of
	// a job of ten million rows; past it jobs near their time limit of two hours.
	phaseBuckets = []float64{.025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	// A page takes some 10 ms; 30 s is the limit of a try, a snapshot may last longer.
	callBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	// One for the reservations, one for each of nine parts and look-ups, and up to four for
	// coupon prices: past fifteen somebody runs a statement for each row.
	statementBuckets = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 100}
	// From a few rows to the 4 GiB past which a zip takes its 64-bit form.
	fileBuckets = prometheus.ExponentialBuckets(16<<10, 4, 10)
	// A list takes milliseconds; an order waits for its count for up to 3 s, a call of
	// the job table for up to 5 s. Downloads last as long as their readers take.
	requestBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
)

// New returns the metrics of a process of the version.
func New(version string, log *slog.Logger) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), errorLogger: log,
		ended:      newCounter("jobs_ended_total", "Attempts of export jobs that have ended, by how and by the code of the failure.", "outcome", "code"),
		rows:       prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "rows_written_total", Help: "Rows written into files, those of attempts that failed later too."}),
		phases:     newHistogram("phase_seconds", "What a phase of an attempt took that has done its work.", phaseBuckets, "phase"),
		calls:      newHistogram("api_call_seconds", "What one try of a call of the reservation API took until its answer was read, and how it ended.", callBuckets, "call", "outcome"),
		statements: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "page_statements", Help: "SQL statements that a page of rows cost.", Buckets: statementBuckets}),
		losses:     newCounter("cells_lost_total", "Cells of published files that could not hold their value as it was, by what became of it.", "kind"),
		fileBytes:  prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "file_bytes", Help: "Sizes of published files.", Buckets: fileBuckets}),
		swept:      newCounter("sweeper_actions_total", "What the sweeper has mended or removed.", "action"),
		retained:   newCounter("retention_removed_total", "Entries removed because they were older than they are kept.", "kind"),
		requests:   newHistogram("http_request_seconds", "What a request took, by operation. Event streams are not in it.", requestBuckets, "operation", "status"),
		shed:       newCounter("api_shed_total", "Requests that the reservation API turned away because it was busy.", "class"),
		segments:   newCounter("segments_total", "Segments of big jobs, by what became of them.", "outcome"),
		refused:    newCounter("orders_refused_total", "Orders for exports that were not taken.", "reason"),
		cache:      newCounter("cache_events_total", "What happened in the home board's cache: hits and misses of its two tiers, loads, waits, invalidations, failures of Redis.", "event"),
		pools:      &pools{},
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "Always 1; the label has the version.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.ended.vec, m.rows, m.phases.vec, m.calls.vec, m.statements, m.losses.vec, m.fileBytes, m.swept.vec,
		m.retained.vec, m.requests.vec, m.shed.vec, m.segments.vec, m.refused.vec, m.cache.vec, m.pools, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.ended.begin("succeeded", "none")
	m.ended.begin("failed", "worker-lost")
	for _, action := range []string{"lost", "resent", "expired", "files-removed"} {
		m.swept.begin(action)
	}
	return m
}

// Handler serves the metrics in Prometheus' formats. A source that fails leaves the
// others as they are.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(m.errorLogger.Handler(), slog.LevelWarn),
	})
}
