package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// traffic is what went over a listener.
type traffic struct {
	calls atomic.Int64
	bytes atomic.Int64 // both ways, headers included
}

// api is an HTTP server on the loopback device.
type api struct {
	url     string
	traffic traffic
	server  *http.Server
	ended   chan error
}

// serveAPI serves h, each call held up by the delay; the caller must close it.
func serveAPI(ctx context.Context, h http.Handler, delay time.Duration, wait func(ctx context.Context, d time.Duration) error) (*api, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the reservation API: %w", err)
	}
	a := &api{url: "http://" + ln.Addr().String(), ended: make(chan error, 1)}
	a.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.traffic.calls.Add(1)
		if delay > 0 && wait(r.Context(), delay) != nil {
			return // the caller has gone
		}
		h.ServeHTTP(w, r)
	})}
	go func() { a.ended <- a.server.Serve(countingListener{ln, &a.traffic}) }()
	return a, nil
}

func (a *api) close() error {
	err := a.server.Close()
	if ended := <-a.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

type countingListener struct {
	net.Listener
	traffic *traffic
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, l.traffic}, nil
}

type countingConn struct {
	net.Conn
	traffic *traffic
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.traffic.bytes.Add(int64(n))
	return n, err
}

func (c countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.traffic.bytes.Add(int64(n))
	return n, err
}
