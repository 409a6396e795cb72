package repository

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
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
		want.CreatedAt, want.RunAt = stored(now), stored(now)
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

func TestAZombieIsFencedByTheNextAttempt(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		mustInsert(t, jobs, newJob("a"))
		zombie := mustClaim(t, jobs, "a", 1)
		if err := jobs.Release(t.Context(), zombie, now, nil); err != nil {
			t.Fatal(err)
		}
		fencedWrites(t, jobs, zombie)
		current := mustClaim(t, jobs, "a", 2)
		fencedWrites(t, jobs, zombie)
		fencedWrites(t, jobs, export.Fence{JobID: "a", Attempt: 3})
		if err := jobs.Report(t.Context(), current, export.Progress{Phase: export.PhaseFetch}, now); err != nil {
			t.Errorf("the current attempt: %v", err)
		}
		// The same values once more match the row, though MySQL then changes nothing.
		if err := jobs.Report(t.Context(), current, export.Progress{Phase: export.PhaseFetch}, now); err != nil {
			t.Errorf("an unchanged report: %v", err)
		}
	})
}

func TestAJobIsNotClaimedBeforeItsTime(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		job := newJob("a")
		job.RunAt = now.Add(time.Microsecond)
		mustInsert(t, jobs, job)
		f := export.Fence{JobID: "a", Attempt: 1}
		if _, err := jobs.Claim(t.Context(), f, "w", now, now); !errors.Is(err, export.ErrFenced) {
			t.Errorf("claimed too early: %v", err)
		}
		if _, err := jobs.Claim(t.Context(), f, "w", job.RunAt, now); err != nil {
			t.Errorf("at its time: %v", err)
		}
		if _, err := jobs.Claim(t.Context(), export.Fence{JobID: "none", Attempt: 1}, "w", now, now); !errors.Is(err, export.ErrFenced) {
			t.Errorf("claim no job: %v", err)
		}
	})
}

// race runs do in many goroutines at once and gives how many were won.
func race(t *testing.T, do func(i int) (bool, error)) int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	start := make(chan struct{})
	for i := range 24 {
		wg.Go(func() {
			<-start
			ok, err := do(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("racer %d: %v", i, err)
			}
			if ok {
				won++
			}
		})
	}
	close(start)
	wg.Wait()
	return won
}

func notFenced(err error) (bool, error) {
	if errors.Is(err, export.ErrFenced) {
		return false, nil
	}
	return err == nil, err
}

func TestOfManyRacersOneWins(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		mustInsert(t, jobs, newJob("a"))
		f := export.Fence{JobID: "a", Attempt: 1}
		if won := race(t, func(i int) (bool, error) {
			_, err := jobs.Claim(t.Context(), f, strconv.Itoa(i), now, now.Add(time.Minute))
			return notFenced(err)
		}); won != 1 {
			t.Errorf("%d claims won", won)
		}
		if won := race(t, func(i int) (bool, error) {
			switch i % 3 {
			case 0:
				return notFenced(jobs.Succeed(t.Context(), f, export.File{Key: "k"}, export.Receipt{}, now, now))
			case 1:
				return notFenced(jobs.Fail(t.Context(), f, export.Failure{At: now}))
			}
			_, changed, err := jobs.Cancel(t.Context(), "a", now)
			return changed, err
		}); won != 1 {
			t.Errorf("%d ends won", won)
		}
	})
}

func TestRacingInsertsMakeOneJob(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		for name, key := range map[string]string{"double click": "", "one idempotency key": "key"} {
			id := func(i int) string { return fmt.Sprintf("%s %d", name, i) }
			var mu sync.Mutex
			ids := map[string]bool{}
			won := race(t, func(i int) (bool, error) {
				job := newJob(id(i))
				job.Request.FileName = name
				got, created, err := jobs.Insert(t.Context(), job, key)
				mu.Lock()
				defer mu.Unlock()
				ids[got.ID] = true
				return created, err
			})
			if won != 1 || len(ids) != 1 {
				t.Errorf("%s: %d created, the callers hold %v", name, won, ids)
			}
		}
	})
}

func TestRepeatedRequests(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		first, other := newJob("first"), newJob("second")
		other.Request = first.Request
		other.Request.Filter = map[string][]string{"status": {"Canceled", "No-Show"}, "q": {"김"}}
		insert := func(job export.Job, key string) (string, bool, error) {
			got, created, err := jobs.Insert(t.Context(), job, key)
			return got.ID, created, err
		}
		if id, created, err := insert(first, "key"); err != nil || !created {
			t.Fatal(id, created, err)
		}
		if id, created, err := insert(other, ""); id != "first" || created || err != nil {
			t.Errorf("an equal request while the job is alive: %s, %v, %v", id, created, err)
		}
		different := newJob("different")
		if _, _, err := insert(different, "key"); fault.KindOf(err) != fault.Conflict {
			t.Errorf("the key of another request: %v", err)
		}
		different.RequestedBy = "bob"
		if id, created, err := insert(different, "key"); id != "different" || !created || err != nil {
			t.Errorf("the key of another person: %s, %v, %v", id, created, err)
		}
		taken := newJob("first")
		taken.Request.Sort = "id"
		if _, _, err := insert(taken, ""); fault.KindOf(err) != fault.Conflict {
			t.Errorf("an id that is taken: %v", err)
		}
		if _, _, err := jobs.Cancel(t.Context(), "first", now); err != nil {
			t.Fatal(err)
		}
		if id, created, err := insert(other, "key"); id != "first" || created || err != nil {
			t.Errorf("the key again, the job being over: %s, %v, %v", id, created, err)
		}
		if id, created, err := insert(other, ""); id != "second" || !created || err != nil {
			t.Errorf("an equal request, the job being over: %s, %v, %v", id, created, err)
		}
		running := newJob("running")
		running.Status = export.Running
		if _, _, err := insert(running, ""); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a new job that runs: %v", err)
		}
	})
}

func TestHistoryIsPagedNewestFirst(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		for i := range 9 {
			job := newJob(fmt.Sprintf("j%d", i))
			job.CreatedAt = now.Add(time.Duration(i/3) * time.Second) // three at a time
			job.RequestedBy = [...]string{"ann", "bob"}[i%2]
			mustInsert(t, jobs, job)
		}
		mustClaim(t, jobs, "j4", 1)
		for name, test := range map[string]struct {
			h    export.History
			want []string
		}{
			"newest":       {export.History{Limit: 4}, []string{"j8", "j7", "j6", "j5"}},
			"within a tie": {export.History{Limit: 3, Before: "j5"}, []string{"j4", "j3", "j2"}},
			"one's own":    {export.History{Limit: 9, RequestedBy: "bob", Before: "j6"}, []string{"j5", "j3", "j1"}},
			"of a status":  {export.History{Limit: 9, Status: export.Running}, []string{"j4"}},
			"the end":      {export.History{Limit: 9, Before: "j0"}, nil},
		} {
			got, err := jobs.History(t.Context(), test.h)
			if diff := cmp.Diff(test.want, idsOf(got)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		for _, limit := range []int{0, export.MaxHistory + 1} {
			if _, err := jobs.History(t.Context(), export.History{Limit: limit}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if _, err := jobs.History(t.Context(), export.History{Limit: 1, Before: "none"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("before no job: %v", err)
		}
	})
}

func idsOf(jobs []export.Job) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func TestWhatTheSweeperLooksFor(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		for i, id := range []string{"a", "b", "c", "d"} {
			job := newJob(id)
			job.RunAt = now.Add(time.Duration(-i) * time.Second)
			job.CreatedAt = now.Add(time.Duration(i) * time.Second)
			mustInsert(t, jobs, job)
		}
		large := newJob("large")
		large.Queue, large.RunAt = export.QueueLarge, now.Add(time.Hour)
		mustInsert(t, jobs, large)
		ask := func(name string, find func(context.Context, time.Time, int) ([]export.Job, error), at time.Time, limit int, want ...string) {
			t.Helper()
			got, err := find(t.Context(), at, limit)
			if diff := cmp.Diff(want, idsOf(got)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		ask("due", jobs.Due, now, 9, "d", "c", "b", "a")
		ask("due, some", jobs.Due, now, 2, "d", "c")
		ask("due earlier", jobs.Due, now.Add(-2*time.Second), 9, "d", "c")
		d, err := jobs.Get(t.Context(), "d")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := jobs.Ahead(t.Context(), d); n != 3 || err != nil {
			t.Errorf("%d jobs ahead, %v", n, err)
		}
		f := mustClaim(t, jobs, "c", 1)
		mustClaim(t, jobs, "d", 1)
		if n, err := jobs.Ahead(t.Context(), d); n != 2 || err != nil {
			t.Errorf("%d jobs ahead of which none runs, %v", n, err)
		}
		ask("due, others running", jobs.Due, now, 9, "b", "a")
		ask("lost at the lease's end", jobs.Lost, now.Add(time.Minute), 9)
		ask("lost", jobs.Lost, now.Add(time.Minute+time.Microsecond), 9, "c", "d")
		if err := jobs.Succeed(t.Context(), f, export.File{Key: "k"}, export.Receipt{}, now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		ask("expirable", jobs.Expirable, now.Add(2*time.Hour), 9, "c")
		ask("expirable too early", jobs.Expirable, now.Add(time.Hour), 9)
	})
}

func TestWorkersAreAliveWhileTheyBeat(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		want := func(at time.Time, w export.Workers) {
			t.Helper()
			got, err := jobs.Workers(t.Context(), at)
			if diff := cmp.Diff(w, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		want(now, export.Workers{})
		for i, worker := range []string{"a", "b", "a"} {
			ctx, sent := telemetry.CountStatements(t.Context())
			if err := jobs.Beat(ctx, worker, now.Add(time.Duration(i)*time.Second)); err != nil || sent.Count() != 1 {
				t.Fatalf("%v after %d statements", err, sent.Count())
			}
		}
		last := stored(now.Add(2 * time.Second))
		want(now.Add(2*time.Second), export.Workers{Alive: 2, LastSeen: last})
		want(now.Add(time.Second+export.WorkerLost), export.Workers{Alive: 1, LastSeen: last})
		want(now.Add(time.Hour), export.Workers{LastSeen: last})
	})
}
