package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rowmill/internal/exportclient"
	"rowmill/internal/testdb"
	"rowmill/internal/testproc"
)

const (
	testToken    = "test-public-token-0123456789"
	serviceToken = "test-service-token-0123456789"
)

// binary builds the product once, as it is shipped; TestMain removes it.
var binary = sync.OnceValues(func() (path string, err error) {
	if path, err = testproc.Build("."); err == nil {
		binaryDir = filepath.Dir(path)
	}
	return path, err
})

var binaryDir string // removed by TestMain

// house is a MariaDB, a Redis, a file directory, and the processes of the product on them.
type house struct {
	dsn, redis, files string
	env               []string
	program           string // what runs; empty: the product as it is built here
	apiURL, gateway   string
	workers           []*process
	all               []*process // that were ever started
}

// path gives the program that runs.
func (h *house) path(t *testing.T) string {
	t.Helper()
	if h.program != "" {
		return h.program
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newHouse migrates the database and starts the reservation API and the gateway.
func newHouse(t *testing.T) *house {
	t.Helper()
	h := bareHouse(t)
	h.tool(t, "migrate")
	return h
}

// bareHouse has an empty database.
func bareHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dsn: testdb.MySQL(t), redis: testdb.Redis(t), files: t.TempDir()}
	h.env = append(os.Environ(), "ROWMILL_MYSQL_DSN="+h.dsn, "ROWMILL_REDIS_URL="+h.redis, "ROWMILL_BLOB_URL=file://"+h.files,
		"ROWMILL_TOKEN="+testToken, "ROWMILL_SERVICE_TOKEN="+serviceToken, "ROWMILL_LOG_FORMAT=json", "ROWMILL_LEASE=3s", "ROWMILL_SWEEP_EVERY=200ms",
		"ROWMILL_MAX_JOBS_PER_USER=0", "ROWMILL_RATE_PER_SECOND=0") // the tests are one impatient user
	return h
}

// serve starts the roles that have addresses; the house must have its data by then.
func (h *house) serve(t *testing.T) {
	t.Helper()
	h.apiURL = h.start(t, "--roles=reservations", "--reservations-addr=127.0.0.1:0").addr(t)
	h.gateway = h.start(t, "--roles=gateway", "--gateway-addr=127.0.0.1:0").addr(t)
}

func (h *house) client() *exportclient.Client { return exportclient.New(h.gateway, testToken) }

func (h *house) worker(t *testing.T, args ...string) *process {
	t.Helper()
	p := h.start(t, append([]string{"--roles=worker"}, args...)...)
	h.workers = append(h.workers, p)
	return p
}

// tool runs a command to its end and gives what it says.
func (h *house) tool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.path(t), args...)
	cmd.Env = h.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rowmill %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// process is a running `rowmill serve`.
type process struct {
	*testproc.Process
	server string // what it listens as
}

func (h *house) start(t *testing.T, args ...string) *process {
	t.Helper()
	if h.apiURL != "" {
		args = append(args, "--reservations-url="+h.apiURL)
	} else if !strings.Contains(args[0], "reservations") {
		t.Fatal("serve first: a worker needs the reservation API")
	}
	started, err := testproc.Start(h.path(t), h.env, append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{started, "gateway"}
	if strings.Contains(args[0], "reservations") {
		p.server = "reservation API"
	}
	h.all = append(h.all, p)
	t.Cleanup(func() {
		p.signal(t, syscall.SIGTERM)
		p.wait(t)
		if t.Failed() {
			t.Logf("rowmill serve %s:\n%s", strings.Join(args, " "), p.Log())
		}
	})
	return p
}

// says reports whether the process's log has the message.
func (p *process) says(message string) bool {
	return strings.Contains(p.Log(), `"msg":"`+message+`"`)
}

func (p *process) addr(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	addr, err := p.Addr(ctx, p.server)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + addr
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Error(err)
	}
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// awaitJob waits until the job is as asked.
func awaitJob(t *testing.T, c *exportclient.Client, id string, is func(exportclient.Job) bool) exportclient.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var last exportclient.Job
	_, err := c.Follow(ctx, id, 20*time.Millisecond, func(j exportclient.Job) {
		if last = j; is(j) {
			cancel()
		}
	})
	if !is(last) {
		t.Fatalf("job %s is %s in phase %s with %d of %d rows, failure %+v, %v", id, last.Status, last.Phase, last.RowsWritten, last.RowsExpected, last.Failure, err)
	}
	return last
}
