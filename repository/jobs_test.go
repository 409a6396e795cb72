package repository

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 890123456, time.FixedZone("KST", 9*60*60))

// stored is a time as it comes back.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func newJob(id string) export.Job {
	return export.Job{
		ID: id, RequestedBy: "ann", Queue: export.QueueSmall, Status: export.Queued, RowsExpected: 10,
		Request: export.Request{Dataset: "reservations", Format: "xlsx", Filter: map[string][]string{"q": {"김"}, "status": {"Canceled", "No-Show"}},
			Columns: []string{"id", "code"}, Language: "ko", TimeZone: "Asia/Seoul", FileName: "예약.xlsx " + id},
		CreatedAt: now, RunAt: now, TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

func mustInsert(t *testing.T, jobs *Jobs, job export.Job) export.Job {
	t.Helper()
	got, created, err := jobs.Insert(t.Context(), job, "")
	if err != nil || !created {
		t.Fatalf("insert %s: created %v, %v", job.ID, created, err)
	}
	return got
}

func mustGet(t *testing.T, jobs *Jobs, id string) export.Job {
	t.Helper()
	job, err := jobs.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func mustClaim(t *testing.T, jobs *Jobs, id string, attempt int) export.Fence {
	t.Helper()
	f := export.Fence{JobID: id, Attempt: attempt}
	if _, err := jobs.Claim(t.Context(), f, "w1", now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return f
}

func eachJobs(t *testing.T, test func(t *testing.T, jobs *Jobs)) {
	t.Helper()
	eachEngine(t, func(t *testing.T, db *DB) { test(t, NewJobs(db)) })
}

func TestAJobsLifeToSuccessAndExpiry(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		want := newJob("a")
		want.CreatedAt, want.RunAt, want.Turn = stored(now), stored(now), 1
		same := func(when string) {
			t.Helper()
			got, err := jobs.Get(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		mustInsert(t, jobs, newJob("a"))
		same("queued")

		f := mustClaim(t, jobs, "a", 1)
		want.Status, want.Phase, want.Attempt = export.Running, export.PhaseSnapshot, 1
		want.StartedAt, want.LeaseUntil = stored(now), stored(now.Add(time.Minute))
		same("claimed")

		if err := jobs.Report(t.Context(), f, export.Progress{Phase: export.PhaseFetch, Expected: 3000, Written: 100}, now.Add(2*time.Minute)); err != nil {
			t.Fatal(err)
		}
		want.Phase, want.RowsExpected, want.RowsWritten, want.LeaseUntil = export.PhaseFetch, 3000, 100, stored(now.Add(2*time.Minute))
		same("reported")

		why := export.Failure{Code: "source", Message: "The source did not answer.", At: now}
		if err := jobs.Release(t.Context(), f, now.Add(-time.Second), &why); err != nil {
			t.Fatal(err)
		}
		why.At = stored(now)
		want.Status, want.Phase, want.RowsWritten, want.LeaseUntil, want.RunAt = export.Queued, "", 0, time.Time{}, stored(now.Add(-time.Second))
		want.Failures, want.Failure = 1, &why
		same("released after a fault")

		f = mustClaim(t, jobs, "a", 2)
		if err := jobs.Release(t.Context(), f, now, nil); err != nil {
			t.Fatal(err)
		}
		want.Attempt, want.RunAt = 2, stored(now)
		same("handed back")

		f = mustClaim(t, jobs, "a", 3)
		file := export.File{Key: "a/3.xlsx", Size: 123, SHA256: "ff"}
		receipt := export.Receipt{SnapshotAt: stored(now), Expected: 3000, Written: 2999, Distinct: 2999, DeletedMeanwhile: 1, SHA256: "ff",
			Seconds: map[export.Phase]float64{export.PhaseFetch: 1.5}}
		if err := jobs.Succeed(t.Context(), f, file, receipt, now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		want.Status, want.Attempt, want.RowsWritten, want.Failure = export.Succeeded, 3, 2999, nil
		want.FinishedAt, want.ExpiresAt, want.File, want.Receipt = stored(now), stored(now.Add(time.Hour)), &file, &receipt
		same("succeeded")

		if err := jobs.Expire(t.Context(), "a", now.Add(time.Hour)); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a file that is not past its time expired: %v", err)
		}
		for range 2 {
			if err := jobs.Expire(t.Context(), "a", now.Add(2*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		want.Status = export.Expired
		same("expired")
	})
}

func TestFailingAndCancelingAreFinal(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		mustInsert(t, jobs, newJob("failed"))
		f := mustClaim(t, jobs, "failed", 1)
		why := export.Failure{Code: "x", Message: "No.", At: now}
		if err := jobs.Fail(t.Context(), f, why); err != nil {
			t.Fatal(err)
		}
		why.At = stored(now)
		got, err := jobs.Get(t.Context(), "failed")
		if err != nil || got.Status != export.Failed || got.Failures != 1 || !got.FinishedAt.Equal(why.At) || !cmp.Equal(got.Failure, &why) {
			t.Errorf("failed: %+v, %v", got, err)
		}
		for _, id := range []string{"queued", "running"} {
			mustInsert(t, jobs, newJob(id))
		}
		fences := []export.Fence{f, {JobID: "queued"}, mustClaim(t, jobs, "running", 1)}
		for id, want := range map[string]bool{"queued": true, "running": true, "failed": false} {
			job, changed, err := jobs.Cancel(t.Context(), id, now)
			if err != nil || changed != want || job.ID != id || (job.Status == export.Canceled) != want {
				t.Errorf("cancel the %s job: %v, %v, %v", id, job.Status, changed, err)
			}
			if job, changed, err = jobs.Cancel(t.Context(), id, now.Add(time.Hour)); err != nil || changed || !job.FinishedAt.Equal(stored(now)) {
				t.Errorf("cancel the %s job again: %v, %v", id, changed, err)
			}
		}
		for _, f := range fences {
			fencedWrites(t, jobs, f)
		}
		if _, _, err := jobs.Cancel(t.Context(), "none", now); fault.KindOf(err) != fault.NotFound {
			t.Errorf("cancel no job: %v", err)
		}
		if err := jobs.Expire(t.Context(), "none", now); fault.KindOf(err) != fault.NotFound {
			t.Errorf("expire no job: %v", err)
		}
	})
}

// fencedWrites fails if any write under the fence succeeds or changes anything.
func fencedWrites(t *testing.T, jobs *Jobs, f export.Fence) {
	t.Helper()
	before, err := jobs.Get(t.Context(), f.JobID)
	if err != nil {
		t.Fatal(err)
	}
	why := export.Failure{Code: "late", At: now}
	writes := map[string]error{
		"report":  jobs.Report(t.Context(), f, export.Progress{Written: 99}, now.Add(time.Hour)),
		"succeed": jobs.Succeed(t.Context(), f, export.File{Key: "late"}, export.Receipt{}, now, now),
		"fail":    jobs.Fail(t.Context(), f, why),
		"release": jobs.Release(t.Context(), f, now, &why),
	}
	_, writes["claim"] = jobs.Claim(t.Context(), f, "late", now, now)
	for name, err := range writes {
		if !errors.Is(err, export.ErrFenced) {
			t.Errorf("%s under %+v of a %s job: %v, want fenced", name, f, before.Status, err)
		}
	}
	after, err := jobs.Get(t.Context(), f.JobID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("writes under %+v changed the job (-before +after):\n%s", f, diff)
	}
}
