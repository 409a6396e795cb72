package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Pool is a bounded pool of slots, as it is now.
type Pool interface {
	Usage() (limit, taken, waiting int)
}

// Pool shows a pool under the name from now on, as it is when somebody looks.
func (m *Metrics) Pool(name string, p Pool) {
	m.pools.mu.Lock()
	defer m.pools.mu.Unlock()
	m.pools.all = append(m.pools.all, namedPool{name, p})
}

type namedPool struct {
	name string
	pool Pool
}

type pools struct {
	mu  sync.Mutex
	all []namedPool
}

var (
	poolSlots   = prometheus.NewDesc(namespace+"_pool_slots", "Calls that may run at once now; it follows the latency where the pool is adaptive.", []string{"pool"}, nil)
	poolTaken   = prometheus.NewDesc(namespace+"_pool_taken", "Calls that run.", []string{"pool"}, nil)
	poolWaiting = prometheus.NewDesc(namespace+"_pool_waiting", "Calls that wait for a slot.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (p *pools) Describe(to chan<- *prometheus.Desc) {
	to <- poolSlots
	to <- poolTaken
	to <- poolWaiting
}

// Collect implements prometheus.Collector.
func (p *pools) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.all {
		limit, taken, waiting := n.pool.Usage()
		for desc, v := range map[*prometheus.Desc]int{poolSlots: limit, poolTaken: taken, poolWaiting: waiting} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v), n.name)
		}
	}
}
