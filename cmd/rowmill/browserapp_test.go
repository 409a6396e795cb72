package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"rowmill/ingest"
	"rowmill/internal/browser"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
	"rowmill/repository"
	"rowmill/sample"
)

// browserOptions say what a browser's test stands on.
type browserOptions struct {
	servers bool                 // on MariaDB and Redis, where a gateway comes and goes alone; else all is embedded
	rows    int                  // reservations made up
	sample  bool                 // the public sample's reservations, and none made up
	idle    bool                 // no worker, until startWorker
	change  func(*config.Config) // of every part
}

// browserApp is the product in this process, its parts under the test's control.
// It ends with the test. A part that is stopped drains as on SIGTERM; for SIGKILL
// there is the house of processes.
type browserApp struct {
	t     *testing.T
	opts  browserOptions
	url   string // of the gateway; a restart keeps it
	token string
	api   *exportclient.Client // the token's bearer, beside the browser
	log   *lockedBuffer        // shown if the test fails

	cfg    config.Config // what the parts share
	front  *part         // the gateway and the reservation API
	worker *part
	gate   *gate
}

// part is an app that runs.
type part struct {
	*app
	cancel context.CancelFunc
	ended  chan error
}

// bootBrowserApp boots the binary's own wiring on free ports, with its data. Where the
// public sample is wanted, the house of processes imports it in a fraction of the time
// that the race detector and SQLite take here.
func bootBrowserApp(t *testing.T, opts browserOptions) *browserApp {
	t.Helper()
	cfg, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.DataDir, cfg.Token, cfg.ServiceToken = t.TempDir(), testToken, serviceToken
	cfg.GatewayAddr, cfg.ReservationsAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.SweepEvery, cfg.DrainTimeout = 200*time.Millisecond, time.Second // an open event stream is cut then
	cfg.FetchSlots, cfg.FetchMax = 1, 1                                  // pages come to the gate in their order
	cfg.LogLevel = "warn"
	if opts.servers {
		cfg.MySQLDSN, cfg.RedisURL = testdb.MySQL(t), testdb.Redis(t)
	}
	if opts.change != nil {
		opts.change(cfg)
	}
	b := &browserApp{t: t, opts: opts, token: testToken, log: &lockedBuffer{}, cfg: *cfg}
	t.Cleanup(func() {
		b.stop(&b.worker)
		b.stop(&b.front)
		if t.Failed() {
			t.Logf("the product's log:\n%s", b.log)
		}
	})
	b.startGateway()
	b.gate = newGate(t, b.front.app)
	if !opts.idle {
		b.startWorker()
	}
	b.api = exportclient.New(b.url, b.token)
	return b
}

// newPart wires the roles. They are not held to Config.Check: embedded, the product
// plays all roles as one process, out of which a test takes the worker.
func (b *browserApp) newPart(change func(*config.Config), roles ...config.Role) *part {
	b.t.Helper()
	cfg := b.cfg
	cfg.Roles = nil
	for _, role := range roles {
		cfg.Roles = append(cfg.Roles, string(role))
	}
	if change != nil {
		change(&cfg)
	}
	a, err := newApp(b.t.Context(), &cfg, telemetry.NewLogger(b.log, "text", cfg.Level()))
	if err != nil {
		b.t.Fatal(err)
	}
	return &part{app: a, ended: make(chan error, 1)}
}

func (p *part) start() {
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() { p.ended <- p.run(ctx) }()
}

func (b *browserApp) stop(p **part) {
	b.t.Helper()
	if *p == nil {
		return
	}
	(*p).cancel()
	if err := <-(*p).ended; err != nil {
		b.t.Errorf("a part ended with: %v", err)
	}
	*p = nil
}

// startGateway starts the gateway and the reservation API, where they were before.
func (b *browserApp) startGateway() {
	b.t.Helper()
	first := b.url == ""
	p := b.newPart(nil, config.Gateway, config.Reservations)
	if first {
		b.load(p.app)
		b.url = p.gateway.url()
		b.cfg.GatewayAddr, b.cfg.ReservationsAddr = p.gateway.ln.Addr().String(), p.reservations.ln.Addr().String()
	}
	b.front = p
	p.start()
}

// stopGateway leaves nobody to answer the browser. Embedded, Redis goes with it,
// and so the worker must.
func (b *browserApp) stopGateway() {
	b.t.Helper()
	if !b.opts.servers {
		b.stopWorker()
	}
	b.stop(&b.front)
}

// restartGateway is a restart of the whole server when it is embedded, and of the
// gateway and the reservation API else.
func (b *browserApp) restartGateway() {
	b.t.Helper()
	working := b.worker != nil
	b.stopGateway()
	b.startGateway()
	if working && b.worker == nil {
		b.startWorker()
	}
}

// startWorker starts a worker, whose pages go through the gate.
func (b *browserApp) startWorker() {
	b.t.Helper()
	b.worker = b.newPart(func(cfg *config.Config) {
		cfg.RedisURL, cfg.ReservationsURL = b.front.redisURL, b.gate.URL
	}, config.Worker)
	b.worker.start()
}

// stopWorker hands its jobs back to the queue, and none is left to work.
func (b *browserApp) stopWorker() {
	b.t.Helper()
	b.stop(&b.worker)
}

func (b *browserApp) load(a *app) {
	b.t.Helper()
	err := a.db.Migrate(b.t.Context())
	source := ingest.Synthetic(b.opts.rows, 1)
	if b.opts.sample {
		source = ingest.HotelBookings(sample.HotelBookings())
	}
	if err == nil && (b.opts.sample || b.opts.rows > 0) {
		_, err = ingest.Run(b.t.Context(), repository.NewLoader(a.db), source, nil)
		if err == nil {
			err = loadHome(b.t.Context(), streams{io.Discard, io.Discard}, repository.NewLoader(a.db), source)
		}
	}
	if err != nil {
		b.t.Fatal(errors.Join(err, a.close()))
	}
}

// user gives a browser of a user who holds the token. Two users are two calls.
func (b *browserApp) user(o browser.Options) *browser.Page {
	b.t.Helper()
	if o.Headers == nil {
		o.Headers = map[string]string{"Authorization": "Bearer " + b.token}
	}
	return browser.New(b.t, o)
}

// signIn chooses the role on the development sign-in, which only the embedded
// product has, and so comes to the path.
func (b *browserApp) signIn(p *browser.Page, role, path string) {
	b.t.Helper()
	p.Open(b.url + "/auth/login?return_to=" + url.QueryEscape(path))
	p.Click(fmt.Sprintf("button[value=%s]", role))
	p.Wait(fmt.Sprintf("location.pathname + location.search === %q && document.readyState === 'complete'", path))
}

// tables opens the product's database beside it, until the test ends.
func (b *browserApp) tables() *sql.DB {
	b.t.Helper()
	driver, dsn := "mysql", b.cfg.MySQLDSN
	if !b.opts.servers {
		driver = "sqlite"
		path, err := sqlitePath(b.cfg.DataDir)
		if err != nil {
			b.t.Fatal(err)
		}
		dsn = path + "?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = db.Close() }) // what was asked of it has been answered
	return db
}

// exec changes the product's tables under it, such as a job's expires_at.
func (b *browserApp) exec(statement string, args ...any) {
	b.t.Helper()
	if _, err := b.tables().ExecContext(b.t.Context(), statement, args...); err != nil {
		b.t.Fatalf("%s: %v", statement, err)
	}
}

// gate stands between the workers and the reservation API. Held, it keeps every
// page from them, so that a job stays where it is for as long as a test looks.
type gate struct {
	*between
	mu     sync.Mutex
	opened chan struct{} // closed while pages pass
	passed int           // pages that pass although it is held
}

func newGate(t *testing.T, a *app) *gate {
	t.Helper()
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	g.between = newBetween(t, g.wait, math.MaxInt64)
	g.aim(t, a)
	t.Cleanup(g.release) // the server ends when its requests have
	return g
}

// hold lets so many more pages pass and none after them.
func (g *gate) hold(pages int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passed = pages
	select {
	case <-g.opened:
		g.opened = make(chan struct{})
	default:
	}
}

// release lets the pages pass, those too that wait.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

func (g *gate) wait(_ http.ResponseWriter, r *http.Request) (answered bool) {
	g.mu.Lock()
	opened := g.opened
	passes := g.passed > 0
	g.passed = max(0, g.passed-1)
	g.mu.Unlock()
	if passes {
		return false
	}
	select {
	case <-opened:
		return false
	case <-r.Context().Done():
		return true
	}
}

// lockedBuffer takes the log of many goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(slices.Clone(l.b.Bytes()))
}
