package repository

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

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
		dueAfter := func(after export.Job) func(context.Context, time.Time, int) ([]export.Job, error) {
			return func(ctx context.Context, at time.Time, limit int) ([]export.Job, error) {
				return jobs.Due(ctx, at, after, limit)
			}
		}
		due := dueAfter(export.Job{})
		ask("due", due, now, 9, "d", "c", "b", "a")
		ask("due, some", due, now, 2, "d", "c")
		ask("due earlier", due, now.Add(-2*time.Second), 9, "d", "c")
		tie := newJob("b2")
		tie.RunAt = now.Add(-time.Second) // as b's
		mustInsert(t, jobs, tie)
		ask("due after one", dueAfter(mustGet(t, jobs, "c")), now, 2, "b", "b2")
		ask("due after one of the same moment", dueAfter(mustGet(t, jobs, "b")), now, 9, "b2", "a")
		if _, _, err := jobs.Cancel(t.Context(), "b2", now); err != nil {
			t.Fatal(err)
		}
		d := mustGet(t, jobs, "d")
		if n, err := jobs.Ahead(t.Context(), d); n != 3 || err != nil {
			t.Errorf("%d jobs ahead, %v", n, err)
		}
		f := mustClaim(t, jobs, "c", 1)
		mustClaim(t, jobs, "d", 1)
		if n, err := jobs.Ahead(t.Context(), d); n != 2 || err != nil {
			t.Errorf("%d jobs ahead of which none runs, %v", n, err)
		}
		ask("due, others running", due, now, 9, "b", "a")
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
			if err := jobs.Beat(ctx, worker, now.Add(time.Duration(i)*time.Second)); err != nil || sent.Count() != 2 { // the beat, and the forgetting
				t.Fatalf("%v after %d statements", err, sent.Count())
			}
		}
		last := stored(now.Add(2 * time.Second))
		want(now.Add(2*time.Second), export.Workers{Alive: 2, LastSeen: last})
		want(now.Add(time.Second+export.WorkerLost), export.Workers{Alive: 1, LastSeen: last})
		want(now.Add(time.Hour), export.Workers{LastSeen: last})

		later := now.Add(2 * forgetAfter)
		if err := jobs.Beat(t.Context(), "c", later); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := jobs.db.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM workers").Scan(&left); err != nil || left != 1 {
			t.Errorf("%d workers are remembered, %v", left, err)
		}
	})
}
