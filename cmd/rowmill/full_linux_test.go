package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rowmill/export"
)

// narrow gives the house a file store of 1 MiB that can be filled and freed, and the
// beginning of the words that an export fails with that finds it full. Where mounting is not permitted,
// the size of the worker's files is bounded in its place.
func narrow(t *testing.T, h *house) (fill, free func(*process), words string) {
	t.Helper()
	err := syscall.Mount("tmpfs", h.files, "tmpfs", 0, "size=1m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		bound := func(size string) func(*process) {
			return func(p *process) {
				out, err := exec.CommandContext(t.Context(), "prlimit", "--pid", strconv.Itoa(p.PID()), "--fsize="+size+":").CombinedOutput()
				if err != nil {
					t.Fatalf("prlimit: %v: %s", err, out)
				}
			}
		}
		return bound("1024"), bound("unlimited"), "The file is larger than the file store takes."
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(h.files, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(h.files, "ballast")
	fill = func(*process) {
		if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the file store is not full: %v", err)
		}
	}
	free = func(*process) {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return fill, free, "The file store is full: the file needs about "
}

// A full file store fails an export in words for its owner and its operator, leaves
// nothing behind, and takes the next as soon as there is room.
func TestAFullFileStoreFailsTheExportInWordsAndTakesTheNext(t *testing.T) {
	h, _ := smallHouse(t)
	fill, free, words := narrow(t, h)
	worker := h.worker(t, "--max-failures=1")
	done := submit(t, h, "fits")
	if job := awaitJob(t, h.client(), done, ended); job.Status != export.Succeeded {
		t.Fatalf("with room the job is %s: %+v", job.Status, job.Failure)
	}
	fill(worker)
	id := submit(t, h, "full")
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Failed || job.Failure == nil || !strings.HasPrefix(job.Failure.Message, words) || job.Receipt != nil {
		t.Errorf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
	}
	if files := filesOf(t, h, id); len(files) != 0 {
		t.Errorf("it left %v", files)
	}
	if strings.Contains(words, "full") {
		h.ready(t, http.StatusServiceUnavailable)
	}
	free(worker)
	h.ready(t, http.StatusOK)
	next := submit(t, h, "next")
	if job := awaitJob(t, h.client(), next, ended); job.Status != export.Succeeded || job.Receipt.Written != 60 {
		t.Errorf("with room again the job is %s: %+v", job.Status, job.Failure)
	}
}

// ready fails unless the gateway's readiness answers so.
func (h *house) ready(t *testing.T, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.gateway+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only its status is asked for
	if res.StatusCode != want {
		t.Errorf("/readyz answers %d, want %d", res.StatusCode, want)
	}
}
