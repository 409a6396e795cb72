package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

// A worker that writes a million rows needs no more memory than one that writes a
// tenth of them, and little of it: what it holds is pages, not rows. Both are made in
// segments, by the worker's helpers too, as big exports are.
func TestMemoryDoesNotGrowWithTheRows(t *testing.T) {
	h := newHouse(t)
	h.tool(t, "import", "synthetic", "--rows=1000000")
	h.serve(t)
	small, large := h.peak(t, 100_000), h.peak(t, 1_000_000)
	t.Logf("peak memory of the worker: %d MB for 100,000 rows, %d MB for 1,000,000", small>>20, large>>20)
	if large > small*3/2 || large > 250<<20 {
		t.Errorf("1,000,000 rows took %d bytes, 100,000 took %d: at most 1.5 times as much and 250 MB are allowed", large, small)
	}
}

// peak exports the first rows in a worker of their own and gives the most memory
// that the process ever had, in bytes.
func (h *house) peak(t *testing.T, rows int64) int64 {
	t.Helper()
	worker := h.worker(t, "--resume-rows=1", "--spread-rows=1")
	order := exportclient.Order{Format: "xlsx", Personal: true, Reason: "measurement", Filter: map[string][]string{"id_lte": {fmt.Sprint(rows)}}}
	job, err := h.client().Submit(t.Context(), order, fmt.Sprintf("scale-%d", rows))
	if err != nil {
		t.Fatal(err)
	}
	job = awaitJob(t, h.client(), job.ID, ended)
	if job.Status != export.Succeeded || job.Receipt.Distinct != rows {
		t.Fatalf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
	}
	if err := h.client().Download(t.Context(), job, filepath.Join(t.TempDir(), "scale.xlsx")); err != nil {
		t.Fatal(err)
	}
	peak := mostResident(t, worker.PID())
	worker.signal(t, syscall.SIGTERM)
	worker.wait(t)
	return peak
}

// mostResident gives the most memory that a running process ever had, in bytes.
// What the kernel says at its end (ru_maxrss) would count this process too, as it
// was when it forked.
func mostResident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the kernel does not tell the process's memory")
	return 0
}
