package embedded

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, r *Redis) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestRedisLetsKeysExpire(t *testing.T) {
	start := time.Now()
	ticks := make(chan time.Time)
	stopped := false
	server, err := startRedis(start, ticks, func() { stopped = true })
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, server)
	for key, ttl := range map[string]time.Duration{"short": 10 * time.Second, "long": time.Minute, "for ever": 0} {
		if err := client.Set(t.Context(), key, "x", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		at   time.Duration
		left int64
	}{{time.Second, 3}, {9 * time.Second, 3}, {11 * time.Second, 2}, {2 * time.Minute, 1}, {24 * time.Hour, 1}} {
		ticks <- start.Add(step.at)
		ticks <- start.Add(step.at) // taken only when the one before is done
		if got := client.DBSize(t.Context()).Val(); got != step.left {
			t.Errorf("after %v %d keys are left, not %d", step.at, got, step.left)
		}
	}
	if err := errors.Join(server.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	if !stopped {
		t.Error("Close left the ticker running")
	}
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("it answers after Close")
	}
}

func TestStartRedis(t *testing.T) {
	server, err := StartRedis()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at, err := url.Parse(server.URL())
	if err != nil || !net.ParseIP(at.Hostname()).IsLoopback() {
		t.Fatalf("it listens at %v, %v", at, err)
	}
	if err := connect(t, server).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	stranger := redis.NewClient(&redis.Options{Addr: at.Host})
	defer stranger.Close()
	if err := stranger.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v", err)
	}
}
