package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rowmill/export"
	"rowmill/internal/browser"
	"rowmill/internal/exportclient"
	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(testdb.Around(browser.Around(m)), goleak.Cleanup(func(code int) {
		if err := errors.Join(os.RemoveAll(binaryDir), os.RemoveAll(previousDir)); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

const samplePath = "../../sample/hotel_bookings.csv.gz"

// reading is what another program's reader finds in an Excel file.
type reading struct {
	Rows     int            `json:"rows"`
	Header   []string       `json:"header"`
	Amount   string         `json:"amount"`
	Statuses map[string]int `json:"statuses"`
	FirstID  int            `json:"first_id"`
	LastID   int            `json:"last_id"`
	Distinct int            `json:"distinct_ids"`
	InOrder  bool           `json:"in_order"`
	Sheets   []string       `json:"sheets"`
}

// readWithOpenpyxl reads a file with Python's openpyxl.
func readWithOpenpyxl(t *testing.T, path string) reading {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/read.py", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("openpyxl: %v\n%s", err, stderr.String())
	}
	var r reading
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// theSample is what a file of all sample rows must hold.
func theSample(r reading) reading {
	r.Rows, r.Amount, r.FirstID, r.LastID, r.Distinct, r.InOrder = 119390, "42723497.53", 1, 119390, 119390, true
	r.Statuses = map[string]int{"Check-Out": 75166, "Canceled": 43017, "No-Show": 1207}
	return r
}

// rowsHash hashes the data sheet's XML: every row, byte for byte.
func rowsHash(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }() // only read
	f, err := z.Open("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// storedFiles lists what lies in a file store's directory, whatever its name.
func storedFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func running(j exportclient.Job) bool {
	return j.Status == export.Running && j.RowsWritten > 0 && j.RowsWritten < j.RowsExpected
}

func ended(j exportclient.Job) bool { return j.Status.Final() }

// The whole product as one command, read by another program; and the same job
// with its roles in separate processes on MariaDB and Redis, byte for byte.
func TestTheSampleComesOutWholeFromEveryWiring(t *testing.T) {
	demo := filepath.Join(t.TempDir(), "demo.xlsx")
	h := newHouse(t)
	h.tool(t, "demo", "--exit", "--out", demo)
	got := readWithOpenpyxl(t, demo)
	if diff := cmp.Diff(theSample(got), got); diff != "" {
		t.Errorf("the demo's file (-want +got):\n%s", diff)
	}

	h.tool(t, "import", "hotel-bookings", samplePath)
	h.serve(t)
	h.worker(t)
	h.worker(t)
	out := filepath.Join(t.TempDir(), "roles.xlsx")
	h.tool(t, "export", "--gateway", h.gateway, "--personal", "--reason", "comparison", "--out", out)
	if a, b := rowsHash(t, demo), rowsHash(t, out); a != b {
		t.Errorf("the demo's rows hash to %s, those of separate roles to %s", a, b)
	}
	t.Run("a killed worker's job is finished by another", func(t *testing.T) { killedWorker(t, h, rowsHash(t, demo)) })
	t.Run("a canceled job stays canceled and leaves no file", func(t *testing.T) { canceledJob(t, h) })
	t.Run("a stopped worker hands its job on", func(t *testing.T) { stoppedWorker(t, h) })
}

// all asks for all rows under a key of its own: they are not the same order twice.
func all(key string) exportclient.Order {
	return exportclient.Order{Dataset: "reservations", Format: "xlsx", FileName: key + ".xlsx", Personal: true, Reason: "comparison"}
}

func submit(t *testing.T, h *house, key string) string {
	t.Helper()
	job, err := h.client().Submit(t.Context(), all(key), key)
	if err != nil {
		t.Fatal(err)
	}
	return job.ID
}

// onlyWorker stops the workers that run and starts one.
func (h *house) onlyWorker(t *testing.T) *process {
	t.Helper()
	for _, p := range h.workers {
		p.signal(t, syscall.SIGTERM)
		p.wait(t)
	}
	h.workers = nil
	return h.worker(t)
}

func killedWorker(t *testing.T, h *house, want string) {
	worker := h.onlyWorker(t)
	id := submit(t, h, "killed")
	awaitJob(t, h.client(), id, running)
	worker.signal(t, syscall.SIGKILL)
	<-worker.Exited()
	h.worker(t)
	job := awaitJob(t, h.client(), id, ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	out := filepath.Join(t.TempDir(), "killed.xlsx")
	if err := h.client().Download(t.Context(), job, out); err != nil {
		t.Fatal(err)
	}
	if got := rowsHash(t, out); got != want {
		t.Errorf("the file's rows hash to %s, want %s", got, want)
	}
	if files := filesOf(t, h, id); len(files) != 1 || files[0] != "exports/"+id+".2.xlsx" {
		t.Errorf("the job has files %v, want the second attempt's alone", files)
	}
}

func filesOf(t *testing.T, h *house, id string) (files []string) {
	t.Helper()
	for _, name := range storedFiles(t, h.files) {
		if strings.Contains(name, id) {
			files = append(files, name)
		}
	}
	return files
}

func canceledJob(t *testing.T, h *house) {
	worker := h.onlyWorker(t)
	id := submit(t, h, "canceled")
	awaitJob(t, h.client(), id, running)
	if job, err := h.client().Cancel(t.Context(), id); err != nil || job.Status != export.Canceled {
		t.Fatalf("canceling gave %s, %v", job.Status, err)
	}
	next := submit(t, h, "after") // runs on the slot that the canceled job leaves
	awaitJob(t, h.client(), next, ended)
	worker.signal(t, syscall.SIGTERM)
	worker.wait(t) // whatever ran has ended
	if job, err := h.client().Get(t.Context(), id); err != nil || job.Status != export.Canceled {
		t.Errorf("afterwards the job is %s, %v", job.Status, err)
	}
	if files := filesOf(t, h, id); len(files) != 0 {
		t.Errorf("the canceled job left %v", files)
	}
}

func stoppedWorker(t *testing.T, h *house) {
	worker := h.onlyWorker(t)
	id := submit(t, h, "stopped")
	awaitJob(t, h.client(), id, running)
	worker.signal(t, syscall.SIGTERM)
	worker.wait(t)
	if code := worker.ExitCode(); code != 0 {
		t.Errorf("the stopped worker exits with %d", code)
	}
	if job, err := h.client().Get(t.Context(), id); err != nil || job.Status != export.Queued || job.Failure != nil {
		t.Errorf("after the stop the job is %s with failure %+v, %v", job.Status, job.Failure, err)
	}
	if files := filesOf(t, h, id); len(files) != 0 {
		t.Errorf("the stopped attempt left %v", files)
	}
	h.worker(t)
	if job := awaitJob(t, h.client(), id, ended); job.Status != export.Succeeded {
		t.Errorf("the job is %s: %+v", job.Status, job.Failure)
	}
}
