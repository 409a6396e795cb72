// Package gateway is Rowmill's public HTTP API: it takes orders for exports,
// says how they fare, hands out their files, and serves the list view that the
// orders are made from. It owns who may call, what a caller reads of an error,
// and the OpenAPI document; jobs, rows and files belong to others, whom it knows
// by the small interfaces in this package.
//
// Every error is an RFC 9457 problem whose type is urn:rowmill:problem:<kind>.
package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"rowmill/grants"
)

// Server is the gateway. It is an http.Handler and safe for concurrent use.
type Server struct {
	cfg        Config
	echo       *echo.Echo
	api        huma.API
	orders     *orders
	origins    *http.CrossOriginProtection
	unruled    []string          // operations without a rule in needs
	operations map[string]string // ids by method and route
	streams    *streams
	rates      *rates
	keeper     *grants.Keeper // nil: grants are not kept
	links      links

	draining chan struct{}
	drain    sync.Once
}

// New returns a gateway, or an error that says what its Config lacks.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	links := newLinks(cfg.LinkKey)
	cfg.LinkKey = nil // not to be printed with a Server
	cfg = cfg.timely()
	s := &Server{
		cfg:        cfg,
		echo:       echo.New(),
		orders:     newOrders(cfg),
		streams:    &streams{all: cfg.MaxStreams, perUser: cfg.Limits.StreamsPerUser, by: map[string]int{}},
		rates:      newRates(cfg.Limits, cfg.Now),
		links:      links,
		operations: map[string]string{},
		draining:   make(chan struct{}),
	}
	s.orders.record = s.record
	if cfg.Grants != nil {
		s.keeper = grants.New(grants.Config{Store: cfg.Grants, Jobs: cfg.Live, Record: s.record, Logger: cfg.Logger, Now: cfg.Now})
	}
	var err error
	if s.origins, err = trustedOrigins(cfg.BaseURL); err != nil {
		return nil, fmt.Errorf("gateway config: BaseURL: %w", err)
	}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.writeError
	s.use()
	s.api = newAPI(s)
	s.routes()
	if len(s.unruled) > 0 {
		return nil, fmt.Errorf("operations of which needs says nothing: %v", s.unruled)
	}
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Drain ends the event streams and makes /readyz fail, so that a shutdown need
// not wait for watchers. Everything else goes on being served.
func (s *Server) Drain() { s.drain.Do(func() { close(s.draining) }) }

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// Bounds of the HTTP server. Reading is cut, writing is not: a download may take
// as long as it moves, and an event stream bounds each of its writes.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	maxQueryBytes  = 32 << 10 // 1,000 ids of a getMany fit
)

// HTTPServer returns a server for the gateway with its bounds set, which drains
// at Shutdown.
func (s *Server) HTTPServer(addr string) *http.Server {
	srv := &http.Server{
		Addr:              addr,
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	srv.RegisterOnShutdown(s.Drain)
	return srv
}
