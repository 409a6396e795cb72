package repository

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/fault"
)

func TestAJobKeepsItsScope(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		for id, scope := range map[string]access.Scope{
			"all": {}, "in the clear": {Personal: true}, "none": {Properties: []int64{}, Personal: true}, "some": {Properties: []int64{3, 5}},
		} {
			job := newJob(id)
			job.Scope, job.Request.Reason = scope, "an audit of 2026"
			mustInsert(t, jobs, job)
			got, err := jobs.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(scope, got.Scope); diff != "" || got.Request.Reason != job.Request.Reason {
				t.Errorf("%s: reason %q (-want +got):\n%s", id, got.Request.Reason, diff)
			}
		}
	})
}

// A job of before the scope was kept, or of a gateway that does not know it.
func TestAJobWithoutAScopeSeesMasks(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		exec(t, db, "INSERT INTO export_jobs (id, request, request_key, requested_by, queue, status, phase, attempt, failures, rows_expected, rows_written, created_at, run_at, trace_parent, worker)"+
			" VALUES ('old', '{}', 'k', 'ann', 'small', 'queued', '', 0, 0, 0, 0, ?, ?, '', '')", moment{now}, moment{now})
		got, err := NewJobs(db).Get(t.Context(), "old")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(access.Scope{}, got.Scope); diff != "" {
			t.Error(diff)
		}
	})
}

// Two clicks make one job if they would make the same file, and only then.
func TestTheScopeIsPartOfWhatADoubleClickIs(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		insert := func(id string, scope access.Scope, key string) (export.Job, bool, error) {
			job := newJob(id)
			job.Request.FileName = "same.xlsx"
			job.Scope = scope
			return jobs.Insert(t.Context(), job, key)
		}
		for _, c := range []struct {
			id    string
			scope access.Scope
			is    string // the job that it is
		}{
			{"a", access.Scope{}, "a"},
			{"b", access.Scope{}, "a"},
			{"c", access.Scope{Personal: true}, "c"},
			{"d", access.Scope{Properties: []int64{}}, "d"},
			{"e", access.Scope{Properties: []int64{5, 3}}, "e"},
			{"f", access.Scope{Properties: []int64{3, 5, 3}}, "e"},
			{"g", access.Scope{Properties: []int64{3}}, "g"},
		} {
			got, created, err := insert(c.id, c.scope, "")
			if err != nil || got.ID != c.is || created != (c.id == c.is) {
				t.Errorf("%s: is %s, created %t, %v", c.id, got.ID, created, err)
			}
		}
		if _, created, err := insert("h", access.Scope{Properties: []int64{9}}, "key"); err != nil || !created {
			t.Fatal(created, err)
		}
		if got, created, err := insert("i", access.Scope{Properties: []int64{9, 9}}, "key"); err != nil || created || got.ID != "h" {
			t.Errorf("the same under the same key is %s, created %t, %v", got.ID, created, err)
		}
		if _, _, err := insert("j", access.Scope{Properties: []int64{9}, Personal: true}, "key"); fault.KindOf(err) != fault.Conflict {
			t.Errorf("another scope under the same key: %v", err)
		}
	})
}
