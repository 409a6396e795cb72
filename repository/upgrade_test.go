package repository

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/testdb"
)

// before is the last schema of the release that knew neither scopes nor audit.
const before = 12

// Its jobs go on masked; what it has published is in the clear, and told to be.
func TestJobsOfTheReleaseBefore(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) Config{
		"sqlite": func(t *testing.T) Config { return Config{Path: filepath.Join(t.TempDir(), "db")} },
		"mysql":  func(t *testing.T) Config { return Config{DSN: testdb.MySQL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), open(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			provider, err := db.migrations()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.UpTo(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			for id, status := range map[string]export.Status{"q": export.Queued, "r": export.Running, "s": export.Succeeded, "x": export.Expired, "f": export.Failed} {
				insertBefore(t, db, id, status)
			}
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			jobs := NewJobs(db)
			shown := map[string]bool{}
			for _, id := range []string{"q", "r", "s", "x", "f"} {
				job, err := jobs.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				shown[id] = job.Scope.Personal
				if diff := cmp.Diff(access.Scope{Personal: job.Scope.Personal}, job.Scope); diff != "" {
					t.Errorf("job %s: %s", id, diff)
				}
			}
			if diff := cmp.Diff(map[string]bool{"q": false, "r": false, "s": true, "x": true, "f": false}, shown); diff != "" {
				t.Errorf("in the clear (-want +got):\n%s", diff)
			}
			goOn(t, jobs)
		})
	}
}

func insertBefore(t *testing.T, db *DB, id string, status export.Status) {
	t.Helper()
	request, err := json.Marshal(newJob(id).Request)
	if err != nil {
		t.Fatal(err)
	}
	var active, lease, key any
	attempt := 0
	switch status {
	case export.Queued:
		active = id
	case export.Running:
		active, lease, attempt = id, moment{now}, 1
	case export.Succeeded:
		key, attempt = "k", 1
	}
	exec(t, db, "INSERT INTO export_jobs (id, request, request_key, requested_by, active_key, queue, status, phase, attempt, failures, rows_expected, rows_written, created_at, run_at, lease_until, file_key, file_size, file_sha256, trace_parent, worker)"+
		" VALUES (?, ?, ?, 'ann', ?, 'small', ?, '', ?, 0, 0, 0, ?, ?, ?, ?, 1, 'h', '', '')", id, string(request), id, active, string(status), attempt, moment{now}, moment{now}, lease, key)
}

// goOn runs the waiting job, finds the running one lost, and counts both.
func goOn(t *testing.T, jobs *Jobs) {
	t.Helper()
	fence := export.Fence{JobID: "q", Attempt: 1}
	later := now.Add(time.Minute)
	if _, err := jobs.Claim(t.Context(), fence, "w", now, later); err != nil {
		t.Fatal(err)
	}
	if err := jobs.Succeed(t.Context(), fence, export.File{Key: "n", Size: 1, SHA256: "h"}, export.Receipt{}, now, later); err != nil {
		t.Fatal(err)
	}
	if done, err := jobs.Get(t.Context(), "q"); err != nil || done.Status != export.Succeeded || done.Scope.Personal {
		t.Errorf("the waiting job: %s, %+v, %v", done.Status, done.Scope, err)
	}
	lost, err := jobs.Lost(t.Context(), later, 10)
	if err != nil || len(lost) != 1 || lost[0].ID != "r" {
		t.Errorf("lost: %v, %v", lost, err)
	}
	live := newJob("n1")
	live.RequestedBy, live.Request.FileName = "ann", "new.xlsx"
	if _, created, err := jobs.Limited(2).Insert(t.Context(), live, ""); err != nil || !created {
		t.Errorf("beside the running one: %t, %v", created, err)
	}
}
