package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// edge is a connection between two parts of the system: a proxy that faults are put into.
type edge struct {
	proxy *toxiproxy.Proxy
	addr  string // where it listens
}

func newEdge(name, upstream string) (*edge, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("start the proxy %s: %w", name, err)
	}
	return &edge{p, p.Listen}, nil
}

// aim sends what connects from now on to another address, and cuts what is connected.
func (e *edge) aim(upstream string) error {
	if e.proxy.Upstream == upstream {
		return nil
	}
	return e.proxy.Update(&toxiproxy.Proxy{Listen: e.addr, Upstream: upstream, Enabled: true})
}

// toxics are the faults of an edge as toxiproxy knows them. %d is the fault's size.
var toxics = map[kind]string{
	cut:       `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`,
	blackhole: `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
	unheard:   `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`,
	latency:   `{"type":"latency","stream":"downstream","attributes":{"latency":%d,"jitter":100}}`,
	slow:      `{"type":"bandwidth","stream":"downstream","attributes":{"rate":%d}}`,
	slowUp:    `{"type":"bandwidth","stream":"upstream","attributes":{"rate":%d}}`,
	half:      `{"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}}`,
	halfUp:    `{"type":"limit_data","stream":"upstream","attributes":{"bytes":%d}}`,
}

// apply puts the fault in and gives what lifts it.
func (e *edge) apply(f fault) (lift func(context.Context) error, err error) {
	if f.Kind == down {
		e.proxy.Stop()
		return func(ctx context.Context) error { return e.start(ctx) }, nil
	}
	spec := toxics[f.Kind]
	if strings.Contains(spec, "%d") {
		spec = fmt.Sprintf(spec, f.Size)
	}
	toxic, err := e.proxy.Toxics.AddToxicJson(strings.NewReader(spec))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return e.remove(ctx, toxic.Name) }, nil
}

// start listens again on the same port, which another process may hold for a moment.
func (e *edge) start(ctx context.Context) error {
	return until(ctx, func() error {
		if err := e.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
			return err
		}
		return nil
	})
}

// remove takes a toxic out. A link that is stuck in a write does not let go of it
// before its connection is cut.
func (e *edge) remove(ctx context.Context, toxic string) error {
	removed := make(chan error, 1)
	go func() { removed <- e.proxy.Toxics.RemoveToxic(context.WithoutCancel(ctx), toxic) }()
	patience := time.NewTimer(2 * time.Second)
	defer patience.Stop()
	select {
	case err := <-removed:
		return err
	case <-patience.C:
	}
	e.proxy.Stop()
	err := <-removed
	return errors.Join(err, e.start(ctx))
}

// until repeats what fails until it succeeds or the context ends.
func until(ctx context.Context, try func() error) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-again.C:
		}
	}
}
