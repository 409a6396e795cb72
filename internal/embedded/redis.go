// Package embedded holds the servers that Rowmill runs inside itself when none
// is configured. They keep nothing on disk: what they hold is gone at the end of
// the process, and whoever uses them fills them again from the database.
package embedded

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// agingPeriod is how often keys age. Redis times to live are mostly whole seconds, and
// one that ends up to a second late harms nobody.
const agingPeriod = time.Second

// Redis is a server of the Redis protocol on a loopback port.
type Redis struct {
	server *miniredis.Miniredis
	url    string
	stop   chan struct{}
	aging  sync.WaitGroup
	close  sync.Once
}

// StartRedis starts a server on a free port of 127.0.0.1, with a password of its
// own, so that other users of the machine cannot read the queue. It runs until Close.
func StartRedis() (*Redis, error) {
	ticker := time.NewTicker(agingPeriod)
	r, err := startRedis(time.Now(), ticker.C, ticker.Stop)
	if err != nil {
		ticker.Stop()
		return nil, err
	}
	return r, nil
}

func startRedis(start time.Time, ticks <-chan time.Time, stopTicks func()) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	password := rand.Text()
	server.RequireAuth(password)
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r := &Redis{
		server: server,
		url:    (&url.URL{Scheme: "redis", User: url.UserPassword("default", password), Host: server.Addr(), Path: "/0"}).String(),
		stop:   make(chan struct{}),
	}
	r.aging.Go(func() {
		defer stopTicks()
		r.age(start, ticks)
	})
	return r, nil
}

// age lets keys expire: miniredis knows a time to live, but not the time.
func (r *Redis) age(last time.Time, ticks <-chan time.Time) {
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticks:
			// Ticks are dropped when the process is busy, so their number says nothing.
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

// URL gives redis://user:password@host:port/0. It is a secret.
func (r *Redis) URL() string { return r.url }

// Close stops the server and waits for all it runs. Close its clients before.
func (r *Redis) Close() error {
	r.close.Do(func() {
		close(r.stop)
		r.aging.Wait()
		r.server.Close()
	})
	return nil
}
