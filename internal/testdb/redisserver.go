package testdb

import (
	"net/url"
	"slices"
	"testing"
)

// RedisServer is a Redis of the test's own, which the test may stop and start
// again: it comes back at the same address, and empty.
type RedisServer struct {
	t       testing.TB
	address string
	options []string
	stop    func() error // nil: it does not run
}

// NewRedisServer starts a Redis, whatever ROWMILL_TEST_REDIS_URL says, with
// further options of redis-server's command line. It runs at most until the test's end.
func NewRedisServer(t testing.TB, options ...string) *RedisServer {
	t.Helper()
	s := &RedisServer{t: t, options: slices.Clone(options)}
	at, stop, err := startRedis(options...)
	if err != nil {
		t.Fatalf("start a test server: %v", err)
	}
	parsed, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	s.address, s.stop = parsed.Host, stop
	t.Cleanup(s.Stop)
	return s
}

// Address gives host:port.
func (s *RedisServer) Address() string { return s.address }

// URL gives redis://host:port/0.
func (s *RedisServer) URL() string { return "redis://" + s.address + "/0" }

// Stop ends the server and waits for its end; what it held is gone.
func (s *RedisServer) Stop() {
	s.t.Helper()
	if s.stop == nil {
		return
	}
	if err := s.stop(); err != nil {
		s.t.Errorf("stop the test's Redis: %v", err)
	}
	s.stop = nil
}

// Start starts it again, empty.
func (s *RedisServer) Start() {
	s.t.Helper()
	stop, err := startRedisAt(s.address, s.options...)
	if err != nil {
		s.t.Fatalf("start the test's Redis again: %v", err)
	}
	s.stop = stop
}
