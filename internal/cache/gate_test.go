package cache

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// gate is a way to a Redis that can be closed: then it takes connections and
// what is sent, and nothing comes back.
type gate struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, to: to}
	g.running.Go(g.accept)
	t.Cleanup(func() {
		_ = l.Close()
		g.hangUp()
		g.running.Wait()
	})
	return g
}

func (g *gate) accept() {
	for {
		in, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.keep(in)
		if g.to == "" {
			continue
		}
		out, err := new(net.Dialer).DialContext(context.Background(), "tcp", g.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		g.keep(out)
		g.running.Go(func() { g.pass(out, in) })
		g.running.Go(func() { g.pass(in, out) })
	}
}

func (g *gate) keep(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, c)
}

func (g *gate) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		_ = c.Close()
	}
}

func (g *gate) pass(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		g.mu.Lock()
		closed := g.closed
		g.mu.Unlock()
		if err != nil {
			return
		}
		if closed {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

func (g *gate) url() string { return "redis://" + g.listener.Addr().String() }

// counting tells of the scripts that are on their way to Redis.
type counting struct{ change func(int) }

func (counting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}
		h.change(1)
		defer h.change(-1)
		return next(ctx, cmd)
	}
}

func (counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
