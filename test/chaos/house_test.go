package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"rowmill/internal/exportclient"
	"rowmill/internal/testdb"
	"rowmill/internal/testproc"
)

const (
	token        = "test-public-token-0123456789"
	serviceToken = "test-service-token-0123456789"
	pages        = 80 // of a whole export: it takes long enough to be hit
	maxFailures  = 30 // passing faults end in success
)

// binary builds the product once; TestMain removes it.
var binary = sync.OnceValues(func() (string, error) { return testproc.Build("rowmill/cmd/rowmill") })

// house is real servers, the product's processes on them, and a proxy on each
// connection between.
type house struct {
	sql, redis *testdb.Daemon
	s3         *s3Server
	edges      map[string]*edge
	fronts     map[string][]*edge // by the process that they lead to
	members    map[string]*member
	db         *sql.DB // straight to the database, as root
	keys       *redis.Client
	path       string
	pageSize   int
	found      violations
}

// newHouse starts everything, with so many made-up reservations.
func newHouse(t *testing.T, rows int) *house {
	t.Helper()
	h := &house{sql: testdb.OwnMySQL(t), redis: testdb.OwnRedis(t), s3: startS3(t), edges: map[string]*edge{}, members: map[string]*member{}, pageSize: rows / pages}
	var err error
	if h.path, err = binary(); err != nil {
		t.Fatal(err)
	}
	if h.db, err = sql.Open("mysql", "root@tcp("+h.sql.Addr+")/"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.db.Close() })
	h.keys = redis.NewClient(&redis.Options{Addr: h.redis.Addr})
	t.Cleanup(func() { _ = h.keys.Close() })
	// Root may write to a read-only server and has a connection in reserve: the product is not root.
	for _, statement := range []string{
		"CREATE DATABASE rowmill CHARACTER SET utf8mb4", "CREATE USER rowmill@'127.0.0.1'", "GRANT ALL ON rowmill.* TO rowmill@'127.0.0.1'",
	} {
		if _, err := h.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	h.tool(t, "migrate")
	h.tool(t, "import", "synthetic", "--rows="+strconv.Itoa(rows))
	h.lay(t)
	var starting errgroup.Group
	for _, m := range h.members {
		starting.Go(func() error { return m.start(t.Context()) })
	}
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
	return h
}

// lay puts the proxies between and says which process stands where.
func (h *house) lay(t *testing.T) {
	t.Helper()
	nowhere := "127.0.0.1:1"
	upstreams := map[string]string{"sql": h.sql.Addr, "redis": h.redis.Addr, "s3": h.s3.addr(), "reservations": nowhere, "gateway": nowhere}
	for _, name := range append(slices.Clone(edgeNames), "client→gateway-2") {
		_, to, _ := strings.Cut(name, "→")
		e, err := newEdge(name, upstreams[strings.TrimSuffix(to, "-2")])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.proxy.Stop)
		h.edges[name] = e
	}
	h.fronts = map[string][]*edge{
		"gateway-1":    {h.edges["client→gateway"]},
		"gateway-2":    {h.edges["client→gateway-2"]},
		"reservations": {h.edges["gateway→reservations"], h.edges["worker→reservations"]},
	}
	for _, name := range processNames {
		role, _, _ := strings.Cut(name, "-")
		m := &member{name: name, role: role, house: h, tmp: t.TempDir()}
		h.members[name] = m
		t.Cleanup(func() { m.end(t) })
	}
}

func dsn(addr string) string { return "rowmill@tcp(" + addr + ")/rowmill" }

// env is the settings of a role's processes: each meets its servers through its own proxies.
func (h *house) env(role, tmp string) []string {
	via := func(to string) string { return h.edges[role+"→"+to].addr }
	env := append(os.Environ(), "TMPDIR="+tmp, "ROWMILL_LOG_FORMAT=json", "ROWMILL_TOKEN="+token, "ROWMILL_SERVICE_TOKEN="+serviceToken,
		"ROWMILL_MYSQL_DSN="+dsn(via("sql")), "ROWMILL_ADMIN_ADDR=127.0.0.1:0", "ROWMILL_GATEWAY_ADDR=127.0.0.1:0", "ROWMILL_RESERVATIONS_ADDR=127.0.0.1:0",
		"ROWMILL_LEASE="+lease.String(), "ROWMILL_SWEEP_EVERY=200ms", "ROWMILL_REPORT_EVERY=100ms", "ROWMILL_MAX_FAILURES="+strconv.Itoa(maxFailures),
		"ROWMILL_FILES_EVERY=500ms", "ROWMILL_FILES_AGE=3s", "ROWMILL_API_TIMEOUT=1s", "ROWMILL_TABLE_TIMEOUT=1s", "ROWMILL_DRAIN_TIMEOUT=2s",
		// Whole exports are made in segments and by both workers, filtered ones in one go.
		"ROWMILL_RESUME_ROWS="+strconv.Itoa(h.pageSize*pages/2), "ROWMILL_SPREAD_ROWS="+strconv.Itoa(h.pageSize*pages*2/3),
		"ROWMILL_SMALL_ROWS="+strconv.Itoa(h.pageSize*pages*2/3), "ROWMILL_RETENTION=3m", "ROWMILL_PAGE_SIZE="+strconv.Itoa(h.pageSize), "ROWMILL_FETCH_SLOTS=1", "ROWMILL_FETCH_MAX=1",
		"ROWMILL_MAX_JOBS_PER_USER=0", "ROWMILL_RATE_PER_SECOND=0", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	if role == "reservations" {
		return env
	}
	return append(env, "ROWMILL_REDIS_URL=redis://"+via("redis")+"/0", "ROWMILL_RESERVATIONS_URL=http://"+via("reservations"),
		"ROWMILL_BLOB_URL=s3://"+bucket+"?region=eu-central-1&use_path_style=true&endpoint=http://"+via("s3"))
}

// tool runs a command of the product straight on the database.
func (h *house) tool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.path, args...)
	cmd.Env = append(os.Environ(), "ROWMILL_MYSQL_DSN="+dsn(h.sql.Addr))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rowmill %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// client gives a client of one of the two gateways.
func (h *house) client(n int) *exportclient.Client {
	return exportclient.New("http://"+h.gateway(n), token)
}

func (h *house) gateway(n int) string {
	return h.edges[[]string{"client→gateway", "client→gateway-2"}[n%2]].addr
}

// member is a place that a process of the product has: when one is killed there, another comes.
type member struct {
	name, role string
	house      *house
	tmp        string
	process    *testproc.Process
}

// servers are what a role listens as, but for the admin listener.
var servers = map[string]string{"gateway": "gateway", "reservations": "reservation API"}

// start starts a process, as often as it takes: with its database away none stays.
func (m *member) start(ctx context.Context) error {
	return until(ctx, func() (err error) {
		m.process, err = testproc.Start(m.house.path, m.house.env(m.role, m.tmp), "serve", "--roles="+m.role) //nolint:contextcheck // it outlives the start
		if err != nil {
			return err
		}
		if _, err = m.process.Addr(ctx, "admin"); err != nil {
			return err
		}
		server, ok := servers[m.role]
		if !ok {
			return nil
		}
		addr, err := m.process.Addr(ctx, server)
		for _, front := range m.house.fronts[m.name] {
			if err == nil {
				err = front.aim(addr)
			}
		}
		return err
	})
}

func (m *member) end(t *testing.T) {
	t.Helper()
	if m.process == nil {
		return
	}
	if err := errors.Join(m.process.Signal(cont), m.process.Stop()); err != nil {
		t.Errorf("%s: %v", m.name, err)
	}
	if t.Failed() {
		t.Logf("the log of %s ends:\n%s", m.name, tail(m.process.Log(), logTail))
	}
}

// logTail is how many lines of a process's log a failed test shows.
const logTail = 20

func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// apply does to the process what the fault says.
func (m *member) apply(ctx context.Context, f fault) (lift func(context.Context) error, err error) {
	select {
	case <-m.process.Exited():
		return nil, fmt.Errorf("%s had ended by itself: %s", m.name, tail(m.process.Log(), logTail))
	default:
	}
	switch f.Kind {
	case stopped:
		p := m.process
		return func(context.Context) error { return p.Signal(cont) }, p.Signal(stop)
	case terminated:
		err = m.process.Stop()
	default:
		err = m.process.Kill()
	}
	return m.start, err
}

// violations are what was found to be otherwise than promised.
type violations struct {
	mu    sync.Mutex
	found []string
}

func (v *violations) add(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	v.mu.Lock()
	v.found = append(v.found, text)
	v.mu.Unlock()
	t.Error("VIOLATION: " + text)
}

// within is a context that ends after the time.
func within(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), d, fmt.Errorf("it did not come within %s", d))
}
