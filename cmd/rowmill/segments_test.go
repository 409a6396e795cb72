package main

import (
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// The tests' big export: 200 pages of 500 rows, 20 segments of 10 pages.
const bigRows, bigPages, bigSegments = 100_000, 200, 20

// bigHouse is a house of so many rows, whose exports keep their segments.
func bigHouse(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	h.tool(t, "import", "synthetic", "--rows=100000")
	h.serve(t)
	h.env = append(h.env, "ROWMILL_PAGE_SIZE=500", "ROWMILL_RESUME_ROWS=20000", "ROWMILL_REPORT_EVERY=100ms")
	return h
}

// kept gives what lies in the store of the job's attempt besides its file.
func (h *house) kept(t *testing.T, id string) (keys []string) {
	t.Helper()
	for _, key := range filesOf(t, h, id) {
		if strings.HasPrefix(key, "chunks/") && !strings.HasSuffix(key, ".tmp") {
			keys = append(keys, key)
		}
	}
	return keys
}

// undisturbed exports everything without segments and gives the hash of its rows.
func (h *house) undisturbed(t *testing.T) string {
	t.Helper()
	worker := h.worker(t, "--resume-rows=0")
	id := submit(t, h, "undisturbed")
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded || job.Receipt.Segments != 0 || job.Receipt.PagesFetched != bigPages {
		t.Fatalf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
	}
	worker.signal(t, syscall.SIGTERM)
	worker.wait(t)
	return rowsHash(t, filepath.Join(h.files, "exports/"+id+".1.xlsx"))
}

// A worker is killed when it has made nine tenths of a big export: the next makes
// the rest, and the same file. What was kept goes with the job's end, whichever it is.
func TestABigExportGoesOnWhereAKilledWorkerStopped(t *testing.T) {
	h := bigHouse(t)
	want := h.undisturbed(t)
	g := h.gated(t)

	g.hold(bigPages * 95 / 100)
	worker := h.worker(t)
	id := submit(t, h, "killed")
	until(t, "nine tenths of the segments are kept", func() bool { return len(h.kept(t, id)) >= bigSegments*9/10+1 }) // and the snapshot
	worker.signal(t, syscall.SIGKILL)
	worker.wait(t)
	g.release()
	worker = h.worker(t)
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	r := job.Receipt
	t.Logf("%d of %d segments were reused and %d of %d pages fetched again", r.SegmentsReused, r.Segments, r.PagesFetched, r.Pages)
	if r.Segments != bigSegments || r.SegmentsReused < bigSegments*85/100 || r.PagesFetched == 0 || r.PagesFetched > bigPages*15/100 || r.Pages != bigPages || r.Distinct != bigRows {
		t.Errorf("the receipt is %+v", r)
	}
	if got := rowsHash(t, filepath.Join(h.files, "exports/"+id+".2.xlsx")); got != want {
		t.Error("its rows differ from those of an undisturbed export")
	}
	h.awaitOnly(t, id, "exports/"+id+".2.xlsx")

	g.hold(bigPages / 2)
	id = submit(t, h, "canceled")
	until(t, "some segments are kept", func() bool { return len(h.kept(t, id)) > 3 })
	if _, err := h.client().Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	h.awaitOnly(t, id)

	id = submit(t, h, "failed")
	g.hold(bigPages / 2)
	until(t, "some segments are kept", func() bool { return len(h.kept(t, id)) > 3 })
	worker.signal(t, syscall.SIGKILL)
	worker.wait(t)
	h.worker(t, "--max-failures=1")
	if job := awaitJob(t, h.client(), id, ended); job.Status != export.Failed {
		t.Fatalf("the job is %s", job.Status)
	}
	h.awaitOnly(t, id)
}

// awaitOnly waits until the store holds of a job these files and no other. What a
// killed worker was writing when it was killed goes with a sweep of the files.
func (h *house) awaitOnly(t *testing.T, id string, want ...string) {
	t.Helper()
	until(t, "the store holds only the job's file", func() bool {
		var got []string
		for _, key := range filesOf(t, h, id) {
			if !strings.HasPrefix(key, "chunks/") || !strings.HasSuffix(key, ".tmp") {
				got = append(got, key)
			}
		}
		return cmp.Equal(want, got)
	})
}

// late gives an API whose pages take a while.
func late(t *testing.T, api string, delay time.Duration) *between {
	t.Helper()
	target, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	b := newBetween(t, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-time.After(delay):
			return false
		case <-r.Context().Done():
			return true
		}
	}, math.MaxInt64)
	b.target.Store(target)
	return b
}

// Two workers make a big export together; one that is killed costs the segments that
// it held; rows that go meanwhile leave no blank line.
func TestABigExportIsSpreadOverTheWorkers(t *testing.T) {
	h := bigHouse(t)
	direct := h.apiURL
	want := h.undisturbed(t)
	h.env = append(h.env, "ROWMILL_SPREAD_ROWS=50000", "ROWMILL_FETCH_SLOTS=2", "ROWMILL_FETCH_MAX=2")

	var apis []*between
	var workers []*process
	for n := range 4 {
		apis = append(apis, late(t, direct, 30*time.Millisecond))
		workers = append(workers, h.workerAt(t, apis[n]))
		h.spread(t, apis, want)
	}
	for _, w := range workers {
		w.signal(t, syscall.SIGTERM)
		w.wait(t)
	}
	h.apiURL = direct
	h.killHelper(t)
}

// spread exports everything by as many workers as there are APIs. Each makes its
// part of the pages. The log tells how the time follows their number.
func (h *house) spread(t *testing.T, apis []*between, want string) {
	t.Helper()
	n := len(apis)
	before := make([]int64, n)
	for i, b := range apis {
		before[i] = b.pages.Load()
	}
	began := time.Now()
	id := submit(t, h, fmt.Sprintf("spread-%d", n))
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	took, all := time.Since(began), int64(0)
	fetched := make([]int64, n)
	for i, b := range apis {
		fetched[i] = b.pages.Load() - before[i]
		all += fetched[i]
	}
	t.Logf("%d workers: %v, pages of each: %v", n, took.Round(10*time.Millisecond), fetched)
	if all < bigPages || all > bigPages*11/10 || n == 2 && slices.Min(fetched) < bigPages*3/10 {
		t.Errorf("the workers fetched %v pages of %d", fetched, bigPages)
	}
	if got := rowsHash(t, filepath.Join(h.files, "exports/"+id+".1.xlsx")); got != want {
		t.Error("its rows differ from those of an undisturbed export")
	}
	h.awaitOnly(t, id, "exports/"+id+".1.xlsx")
}

// killHelper kills the worker that only helps while it holds segments.
func (h *house) killHelper(t *testing.T) {
	t.Helper()
	const passed = 25
	direct := h.apiURL
	gates := []*gate{h.gated(t), nil}
	h.apiURL = direct
	gates[1] = h.gated(t)
	var workers []*process
	for _, g := range gates {
		g.hold(passed)
		workers = append(workers, h.workerAt(t, g.between))
	}
	id := submit(t, h, "helped")
	until(t, "both workers are held up", func() bool { return gates[0].pages.Load() > passed && gates[1].pages.Load() > passed })
	joiner := 0
	if workers[1].says("attempt started") {
		joiner = 1
	}
	h.sql(t, "DELETE FROM reservations WHERE id IN (45001, 60000, 99999)") // none of them is read yet
	helper := 1 - joiner
	workers[helper].signal(t, syscall.SIGKILL)
	workers[helper].wait(t)
	gates[joiner].release()

	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded { // it was verified: no line is blank
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	if r := job.Receipt; r.Expected != bigRows || r.DeletedMeanwhile != 3 || r.Distinct != bigRows-3 || r.Segments != bigSegments || r.SegmentsElsewhere == 0 {
		t.Errorf("the receipt is %+v", r)
	}
	t.Logf("the joiner fetched %d pages, the killed helper %d", gates[joiner].pages.Load(), gates[helper].pages.Load())
	if most := int64(bigPages + 2*10 + 2); gates[0].pages.Load()+gates[1].pages.Load() > most { // two segments, and the pages that were held
		t.Errorf("more than %d pages were fetched", most)
	}
	h.awaitOnly(t, id, "exports/"+id+".1.xlsx") // the first attempt
}

// workerAt starts a worker that reads through b.
func (h *house) workerAt(t *testing.T, b *between) *process {
	t.Helper()
	h.apiURL = b.URL
	return h.worker(t)
}

func (h *house) sql(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open("mysql", h.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its statement has been answered
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
