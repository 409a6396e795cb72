package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rowmill/export"
)

// smallHouse is a house of 60 rows, six pages a job, with a gate between the
// workers to come and the reservation API.
func smallHouse(t *testing.T) (*house, *gate) {
	t.Helper()
	h := newHouse(t)
	h.tool(t, "import", "synthetic", "--rows=60")
	h.serve(t)
	h.env = append(h.env, "ROWMILL_PAGE_SIZE=10", "ROWMILL_FETCH_SLOTS=1", "ROWMILL_FETCH_MAX=1", "ROWMILL_REPORT_EVERY=100ms")
	return h, h.gated(t)
}

// gated puts a gate between the workers to come and the reservation API.
func (h *house) gated(t *testing.T) *gate {
	t.Helper()
	target, err := url.Parse(h.apiURL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	g.between = newBetween(t, g.wait, math.MaxInt64)
	g.target.Store(target)
	t.Cleanup(g.release) // the server ends when its requests have
	h.apiURL = g.URL
	return g
}

// until waits for what a test waits for, and fails when it does not come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.After(25 * time.Second)
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for !is() {
		select {
		case <-limit:
			t.Fatalf("it never came that %s", what)
		case <-looks.C:
		}
	}
}

// states counts the jobs in each state.
func (h *house) states(t *testing.T, ids []string) map[export.Status]int {
	t.Helper()
	found := map[export.Status]int{}
	for _, id := range ids {
		job, err := h.client().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		found[job.Status]++
	}
	return found
}

// All that Redis has of the product is lost while jobs wait and run.
func TestAnEmptiedRedisLosesNeitherWaitingNorRunningJobs(t *testing.T) {
	h, g := smallHouse(t)
	g.hold(0)
	h.worker(t, "--small-slots=1", "--shared-slots=1")
	var ids []string
	for i := range 22 {
		ids = append(ids, submit(t, h, fmt.Sprintf("emptied-%02d", i)))
	}
	held := map[export.Status]int{export.Queued: 20, export.Running: 2}
	until(t, "two jobs run and 20 wait", func() bool { return cmp.Equal(h.states(t, ids), held) })

	options, err := redis.ParseURL(h.redis)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }() // its command has been answered
	before, err := client.DBSize(t.Context()).Result()
	if err != nil || before == 0 {
		t.Fatalf("Redis has %d keys, %v: nothing is shown", before, err)
	}
	if err := client.FlushDB(t.Context()).Err(); err != nil { // not FLUSHALL: the server may be shared with other tests
		t.Fatal(err)
	}
	g.release()

	for _, id := range ids {
		job := awaitJob(t, h.client(), id, ended)
		if job.Status != export.Succeeded || job.Receipt.Written != 60 {
			t.Errorf("job %s is %s: %+v, %+v", id, job.Status, job.Failure, job.Receipt)
		}
		if diff := cmp.Diff([]string{"exports/" + id + ".1.xlsx"}, filesOf(t, h, id)); diff != "" {
			t.Errorf("a job ran otherwise than once (-want +got):\n%s", diff)
		}
	}
}

// standing is what became of a job: its row in the job table, and the rows of its
// file, if one is named.
type standing struct {
	Status, File, Receipt string
	Attempt, Failures     int
	Rows                  string
}

func (h *house) standing(t *testing.T, id, file string) (s standing) {
	t.Helper()
	db, err := sql.Open("mysql", h.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its query has been answered
	row := db.QueryRowContext(t.Context(), "SELECT status, COALESCE(CONCAT_WS(' ', file_key, file_size, file_sha256), ''), COALESCE(receipt, ''), attempt, failures FROM export_jobs WHERE id = ?", id)
	if err := row.Scan(&s.Status, &s.File, &s.Receipt, &s.Attempt, &s.Failures); err != nil {
		t.Fatal(err)
	}
	if file != "" {
		s.Rows = rowsHash(t, filepath.Join(h.files, file))
	}
	return s
}

// endOf gives why the process's log says that the attempt ended; empty: not yet.
func (p *process) endOf(attempt int) string {
	for line := range strings.Lines(p.Log()) {
		var said struct {
			Msg, Reason string
			Attempt     int
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "attempt ended" && said.Attempt == attempt {
			return said.Reason
		}
	}
	return ""
}

// A worker that stood still for longer than its lease comes back when another
// has finished its job.
func TestAWorkerThatStoodStillChangesNothingWhenItGoesOn(t *testing.T) {
	h, g := smallHouse(t)
	g.hold(2)
	zombie := h.worker(t, "--lease=2s")
	t.Cleanup(func() { zombie.signal(t, syscall.SIGCONT) }) // else it does not hear that the test is over
	id := submit(t, h, "zombie")
	awaitJob(t, h.client(), id, running)
	zombie.signal(t, syscall.SIGSTOP)
	g.release()
	h.worker(t, "--lease=2s")
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	file := "exports/" + id + ".2.xlsx"
	want := h.standing(t, id, file)
	if want.Attempt != 2 {
		t.Fatalf("the other worker left %+v", want)
	}
	zombie.signal(t, syscall.SIGCONT)
	until(t, "the first worker's attempt ended", func() bool { return zombie.endOf(1) != "" })
	// A report that was under way when it was stopped fails by its time limit.
	if why := zombie.endOf(1); !strings.Contains(why, export.ErrFenced.Error()) && !strings.Contains(why, export.ErrLeaseLost.Error()) {
		t.Errorf("its log says %q", why)
	}
	if diff := cmp.Diff(want, h.standing(t, id, file)); diff != "" {
		t.Errorf("the job (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{file}, filesOf(t, h, id)); diff != "" {
		t.Errorf("its files (-want +got):\n%s", diff)
	}
}
