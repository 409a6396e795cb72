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

// Check reports whether a server that the process needs answers.
type Check = func(ctx context.Context) error

// Watch shows the job table, and by name whether the other sources answer, from now
// on. All are asked when somebody looks, at most every five seconds and for at most
// two. While the table cannot be read its metrics are not there; rowmill_scrape_ok
// says of each source, the table being "sql", whether it answers.
func (m *Metrics) Watch(t Table, others map[string]Check) {
	m.registry.MustRegister(&tableCollector{table: t, others: others, now: time.Now, failed: func(source string, err error) {
		m.errorLogger.Warn("a source could not be read for the metrics", "source", source, "error", err)
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
	others map[string]Check
	now    func() time.Time
	failed func(source string, err error)

	mu    sync.Mutex
	until time.Time
	last  export.Standing
	ok    map[string]bool // by source
}

// sqlSource is the job table.
const sqlSource = "sql"

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
	s, ok := c.read()
	for source, well := range ok {
		if well {
			gauge(okDesc, 1, source)
		} else {
			gauge(okDesc, 0, source)
		}
	}
	if !ok[sqlSource] {
		return
	}
	gauge(workersDesc, float64(s.Workers))
	for _, q := range []export.Queue{export.QueueSmall, export.QueueLarge} {
		w := s.Queues[q]
		gauge(jobsDesc, float64(w.Due), string(q), "queued")
		gauge(jobsDesc, float64(w.Later), string(q), "scheduled")
		gauge(jobsDesc, float64(w.Running), string(q), "running")
		gauge(ageDesc, w.Oldest.Seconds(), string(q))
	}
}

// read gives the standing and which sources answered, at most tableKept old. Those
// who come meanwhile wait for the one who asks.
func (c *tableCollector) read() (export.Standing, map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Before(c.until) {
		return c.last, c.ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), tableTimeout)
	defer cancel()
	c.ask(ctx)
	c.until = c.now().Add(tableKept)
	return c.last, c.ok
}

// ask asks all sources at once. What it gives out is not written again.
func (c *tableCollector) ask(ctx context.Context) {
	var mu sync.Mutex
	ok := map[string]bool{}
	answered := func(source string, err error) {
		if err != nil {
			c.failed(source, err)
		}
		mu.Lock()
		defer mu.Unlock()
		ok[source] = err == nil
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		standing, err := c.table.Standing(ctx, c.now())
		answered(sqlSource, err)
		c.last = standing
	})
	for source, check := range c.others {
		asked.Go(func() { answered(source, check(ctx)) })
	}
	asked.Wait()
	c.ok = ok
}
