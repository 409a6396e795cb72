package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rowmill/export"
)

// previousRelease builds the release before, whose commit stands in
// testdata/previous-release. Without the repository's history there is nothing
// to build: ok is false, and the forms that releases share are held by the
// fixtures of their packages alone.
var previousRelease = sync.OnceValues(func() (path string, err error) {
	commit, err := os.ReadFile("testdata/previous-release")
	if err != nil {
		return "", err
	}
	if exec.Command("git", "cat-file", "-e", strings.TrimSpace(string(commit))).Run() != nil {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "rowmill-previous-*")
	if err != nil {
		return "", err
	}
	previousDir = dir
	source, path := filepath.Join(dir, "source"), filepath.Join(dir, "rowmill")
	for _, command := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-checkout", "../..", source},
		{"git", "-C", source, "checkout", "--quiet", strings.TrimSpace(string(commit))},
		{"go", "-C", source, "build", "-o", path, "./cmd/rowmill"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return path, nil
})

var previousDir string // removed by TestMain

// release is one of the two that work side by side.
type release struct{ name, path string }

// releases gives the one before and this one; ok is false without history.
func releases(t *testing.T) (before, now release, ok bool) {
	t.Helper()
	path, err := previousRelease()
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		t.Log("this checkout has no history, so the release before cannot be built: the fixtures alone hold the shared forms")
		return before, now, false
	}
	return release{"the release before", path}, release{"this release", ""}, true
}

// While a deploy is under way, a worker of either release finishes what the
// gateway of the other has taken, from the reservation API of either.
func TestWorkersOfEitherReleaseDoTheOthersExports(t *testing.T) {
	before, now, ok := releases(t)
	if !ok {
		return
	}
	h := newHouse(t)
	h.tool(t, "import", "synthetic", "--rows=60")
	for _, front := range []release{before, now} {
		for _, back := range []release{before, now} {
			h.program, h.apiURL = back.path, ""
			h.apiURL = h.start(t, "--roles=reservations", "--reservations-addr=127.0.0.1:0").addr(t)
			h.program = front.path
			h.gateway = h.start(t, "--roles=gateway", "--gateway-addr=127.0.0.1:0").addr(t)
			for _, middle := range []release{before, now} {
				name := fmt.Sprintf("gateway of %s, reservation API of %s, worker of %s", front.name, back.name, middle.name)
				h.program = middle.path
				h.onlyWorker(t)
				id := submit(t, h, strings.ReplaceAll(name, " ", "-"))
				job := awaitJob(t, h.client(), id, ended)
				if job.Status != export.Succeeded || job.Receipt.Distinct != 60 {
					t.Fatalf("%s: the job is %s: %+v, %+v", name, job.Status, job.Failure, job.Receipt)
				}
				if err := h.client().Download(t.Context(), job, filepath.Join(t.TempDir(), "mixed.xlsx")); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// What a killed worker of one release leaves, one of the other makes anew.
func TestAWorkerOfEitherReleaseTakesOverFromAKilledOneOfTheOther(t *testing.T) {
	before, now, ok := releases(t)
	if !ok {
		return
	}
	for _, c := range []struct{ killed, heir release }{{before, now}, {now, before}} {
		t.Run(c.heir.name+" after "+c.killed.name, func(t *testing.T) {
			h, g := smallHouse(t)
			g.hold(2)
			h.program = c.killed.path
			killed := h.worker(t)
			id := submit(t, h, "killed")
			awaitJob(t, h.client(), id, running)
			killed.signal(t, syscall.SIGKILL)
			<-killed.Exited()
			g.release()
			h.program = c.heir.path
			h.worker(t)
			job := awaitJob(t, h.client(), id, ended)
			if job.Status != export.Succeeded || job.Receipt.Distinct != 60 {
				t.Fatalf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
			}
			if files := filesOf(t, h, id); len(files) != 1 || files[0] != "exports/"+id+".2.xlsx" {
				t.Errorf("the job has files %v, want the second attempt's alone", files)
			}
		})
	}
}

// The schema of the release before goes on working with its processes once it
// has been migrated; and processes of this release that are started before that
// wait, say so, and begin by themselves.
func TestMigrationsRunBeforeOrAfterTheNewCode(t *testing.T) {
	before, now, ok := releases(t)
	if !ok {
		return
	}
	h := bareHouse(t)
	h.program = before.path
	h.tool(t, "migrate")
	h.tool(t, "import", "synthetic", "--rows=60")
	h.serve(t)
	older, olderAPI := h.gateway, h.apiURL
	worker := h.worker(t)
	awaitSucceeded(t, h, submit(t, h, "before"))
	worker.signal(t, syscall.SIGTERM)
	worker.wait(t)
	waiting := submit(t, h, "waiting")

	h.program, h.apiURL = now.path, ""
	h.serve(t)
	newer := h.gateway
	if status := statusOf(t, newer+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("before the migration this release's gateway is ready: %d", status)
	}
	early := h.worker(t)
	until(t, "the worker says that it waits for the schema", func() bool { return early.says("waiting for the schema") })
	if job, err := (&house{gateway: older}).client().Get(t.Context(), waiting); err != nil || job.Status != export.Queued {
		t.Errorf("before the migration the job is %s, %v", job.Status, err)
	}

	h.tool(t, "migrate")
	until(t, "this release's gateway is ready", func() bool { return statusOf(t, newer+"/readyz") == http.StatusOK })
	awaitSucceeded(t, h, waiting)
	awaitSucceeded(t, h, submit(t, h, "after"))

	h.gateway, h.apiURL, h.program = older, olderAPI, before.path
	h.onlyWorker(t)
	awaitSucceeded(t, h, submit(t, h, "before-after"))
}

func awaitSucceeded(t *testing.T, h *house, id string) {
	t.Helper()
	if job := awaitJob(t, h.client(), id, ended); job.Status != export.Succeeded || job.Receipt.Distinct != 60 {
		t.Fatalf("job %s is %s: %+v, %+v", id, job.Status, job.Failure, job.Receipt)
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // its status is all that is asked
	return answer.StatusCode
}
