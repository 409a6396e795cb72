package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "rowmill"

// maxValues is the most values that a label has: some three times the operations
// of the gateway, which are the most of any.
const maxValues = 100

// other stands for the values past the bound.
const other = "other"

// bound keeps the values of a label few, whoever thinks of new ones.
type bound struct {
	mu   sync.RWMutex
	seen map[string]bool
}

func (b *bound) of(value string) string {
	b.mu.RLock()
	known := b.seen[value]
	b.mu.RUnlock()
	if known {
		return value
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[value] && len(b.seen) >= maxValues-1 {
		return other
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	b.seen[value] = true
	return value
}

// bounds are those of a metric's labels, in their order.
type bounds []*bound

func newBounds(n int) bounds {
	all := make(bounds, n)
	for i := range all {
		all[i] = &bound{}
	}
	return all
}

func (b bounds) of(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = b[i].of(v)
	}
	return out
}

type counter struct {
	vec *prometheus.CounterVec
	bounds
}

func newCounter(name, help string, labels ...string) *counter {
	return &counter{prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels), newBounds(len(labels))}
}

func (c *counter) add(n float64, values ...string) { c.vec.WithLabelValues(c.of(values)...).Add(n) }

// begin shows a zero, so that the first event is an increase from something.
func (c *counter) begin(values ...string) { c.add(0, values...) }

type histogram struct {
	vec *prometheus.HistogramVec
	bounds
}

func newHistogram(name, help string, buckets []float64, labels ...string) *histogram {
	return &histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels), newBounds(len(labels))}
}

func (h *histogram) observe(v float64, values ...string) {
	h.vec.WithLabelValues(h.of(values)...).Observe(v)
}
