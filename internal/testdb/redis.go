package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis gives the URL of a Redis with nothing in it: a database number of
// ROWMILL_TEST_REDIS_URL that no other test has, or a server of the test's own.
func Redis(t testing.TB) string {
	t.Helper()
	if shared := os.Getenv("ROWMILL_TEST_REDIS_URL"); shared != "" {
		return claimNumber(t, shared)
	}
	url, stop, err := startRedis()
	if err != nil {
		t.Fatalf("start a test server: %v", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop the test's Redis: %v", err)
		}
	})
	return url
}

// Database 0 keeps the claims on the others, of which a server has 15 unless
// told otherwise. A claim outlives a killed test process by no more than this.
const (
	numbers  = 15
	claimFor = 10 * time.Minute
)

func claimNumber(t testing.TB, shared string) string {
	t.Helper()
	options, err := redis.ParseURL(shared)
	if err != nil {
		t.Fatalf("ROWMILL_TEST_REDIS_URL is no Redis URL: %v", err)
	}
	options.DB = 0
	claims := redis.NewClient(options)
	t.Cleanup(func() { _ = claims.Close() })
	for n := 1; n <= numbers; n++ {
		claim := "rowmill:testdb:" + strconv.Itoa(n)
		won, err := claims.SetNX(t.Context(), claim, os.Getpid(), claimFor).Result()
		if err != nil {
			t.Fatalf("claim a Redis database: %v", err)
		}
		if !won {
			continue
		}
		if err := flush(t.Context(), options, n); err != nil {
			t.Fatalf("empty Redis database %d: %v", n, err)
		}
		t.Cleanup(func() {
			ctx := context.Background() // the test's has ended
			if err := errors.Join(flush(ctx, options, n), claims.Del(ctx, claim).Err()); err != nil {
				t.Errorf("give Redis database %d back: %v", n, err)
			}
		})
		return numbered(shared, n)
	}
	t.Fatalf("all %d databases of ROWMILL_TEST_REDIS_URL are in use", numbers)
	return ""
}

func flush(ctx context.Context, options *redis.Options, n int) (err error) {
	own := *options
	own.DB = n
	client := redis.NewClient(&own)
	defer func() { err = errors.Join(err, client.Close()) }()
	return client.FlushDB(ctx).Err()
}

func startRedis(options ...string) (url string, stop func() error, err error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return "", nil, fmt.Errorf("%w: install redis-server, or set ROWMILL_TEST_REDIS_URL", err)
	}
	// Between the look for a free port and its use another process may take it.
	for range 5 {
		if url, stop, err = startRedisOnce(options...); err == nil {
			return url, stop, nil
		}
	}
	return "", nil, err
}

func startRedisOnce(options ...string) (url string, stop func() error, err error) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := probe.Addr().String()
	if err := probe.Close(); err != nil {
		return "", nil, err
	}
	stop, err = startRedisAt(address, options...)
	return "redis://" + address + "/0", stop, err
}

// startRedisAt starts a server at the address, with further options of its command line.
func startRedisAt(address string, options ...string) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "rowmill-redis-")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("redis-server", append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir}, options...)...)
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	stop, err = launch(server, dir, func() error {
		// Whoever answers must be the server of this directory.
		got, err := client.ConfigGet(context.Background(), "dir").Result()
		if err == nil && got["dir"] != dir {
			err = fmt.Errorf("port %s is another server's", port)
		}
		return err
	})
	return stop, errors.Join(err, client.Close())
}

// numbered gives the URL with another database number.
func numbered(shared string, n int) string {
	u, err := neturl.Parse(shared)
	if err != nil {
		return shared // redis.ParseURL has read it before
	}
	u.Path = "/" + strconv.Itoa(n)
	return u.String()
}
