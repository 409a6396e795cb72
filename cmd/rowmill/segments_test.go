package main

import (
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
