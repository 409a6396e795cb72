package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// server is an HTTP listener that drains when it is told to end.
type server struct {
	name  string
	http  *http.Server
	ln    net.Listener
	drain time.Duration
	log   *slog.Logger
}

func (a *app) listen(ctx context.Context, name, addr string, h *http.Server) (*server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the %s: %w", name, err)
	}
	h.ErrorLog = slog.NewLogLogger(a.log.Handler(), slog.LevelWarn)
	return &server{name: name, ln: ln, drain: a.cfg.DrainTimeout, log: a.log, http: h}, nil
}

// bounded is a server for callers from inside.
func bounded(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

func (s *server) url() string { return "http://" + s.ln.Addr().String() }

// run serves until ctx ends, then lets open requests end within the drain time
// and cuts the rest.
func (s *server) run(ctx context.Context) error {
	s.log.InfoContext(ctx, "listening", "server", s.name, "addr", s.ln.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the %s: %w", s.name, err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	err := s.http.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.WarnContext(ctx, "open requests are cut at shutdown", "server", s.name)
		err = s.http.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("close the %s: %w", s.name, err)
	}
	return nil
}

// closeUnused frees the address of a server that never ran.
func (s *server) closeUnused() error {
	if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the %s: %w", s.name, err)
	}
	return nil
}

// freeAddr gives addr if it can be listened on, else the same host with port 0.
func freeAddr(ctx context.Context, addr string) string {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		err = ln.Close()
	}
	if host, _, splitErr := net.SplitHostPort(addr); err != nil && splitErr == nil {
		return net.JoinHostPort(host, "0")
	}
	return addr
}
