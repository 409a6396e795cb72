package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rowmill/export"
)

// Table is the job table, as it stands.
type Table interface {
	// Standing counts the jobs that are alive and the workers.
	Standing(ctx context.Context, at time.Time) (export.Standing, error)
}

const (
	// tableTimeout is well within the 10 s that Prometheus gives a scrape.
	tableTimeout = 2 * time.Second
	// tableKept is how long an answer is used again, also that there was none: several
	// who scrape ask the database no more often than one.
	tableKept = 5 * time.Second
)

// Watch shows the job table from now on. It is read when somebody looks, at most
// every five seconds and for at most two; while it cannot be read its metrics are
// not there and rowmill_scrape_ok is 0.
func (m *Metrics) Watch(t Table) {
	m.registry.MustRegister(&tableCollector{table: t, now: time.Now, failed: func(err error) {
		m.scrapeQuiet.Warn("the job table could not be read for the metrics", "error", err)
	}})
}

var (
	jobsDesc    = prometheus.NewDesc(namespace+"_jobs", "Export jobs that are alive: queued (due to start), scheduled (to be tried again later), running.", []string{"queue", "state"}, nil)
	ageDesc     = prometheus.NewDesc(namespace+"_queue_age_seconds", "How long the longest-waiting job that is due has been due; 0 if none is.", []string{"queue"}, nil)
	workersDesc = prometheus.NewDesc(namespace+"_workers", "Workers that have lately said that they are alive.", nil, nil)
	okDesc      = prometheus.NewDesc(namespace+"_scrape_ok", "Whether what the metrics are read from could be read: 1 or 0.", []string{"source"}, nil)
)

type tableCollector struct {
	table  Table
	now    func() time.Time
	failed func(error)

	mu    sync.Mutex
	until time.Time
	last  export.Standing
	err   error
}

// Describe implements prometheus.Collector.
func (c *tableCollector) Describe(to chan<- *prometheus.Desc) {
	to <- jobsDesc
	to <- ageDesc
	to <- workersDesc
	to <- okDesc
}

// Collect implements prometheus.Collector.
func (c *tableCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s, err := c.read()
	if err != nil {
		gauge(okDesc, 0, "sql")
		return
	}
	gauge(okDesc, 1, "sql")
	gauge(workersDesc, float64(s.Workers))
	for _, q := range []export.Queue{export.QueueSmall, export.QueueLarge} {
		w := s.Queues[q]
		gauge(jobsDesc, float64(w.Due), string(q), "queued")
		gauge(jobsDesc, float64(w.Later), string(q), "scheduled")
		gauge(jobsDesc, float64(w.Running), string(q), "running")
		gauge(ageDesc, w.Oldest.Seconds(), string(q))
	}
}

// read gives the standing, at most tableKept old. Those who come meanwhile wait for
// the one who asks.
func (c *tableCollector) read() (export.Standing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Before(c.until) {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tableTimeout)
	defer cancel()
	if c.last, c.err = c.table.Standing(ctx, c.now()); c.err != nil {
		c.failed(c.err)
	}
	c.until = c.now().Add(tableKept)
	return c.last, c.err
}
