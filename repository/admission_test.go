package repository

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

func orderOf(id string, rows int64) export.Job {
	job := newJob(id)
	job.RequestedBy, job.RowsExpected = "user of "+id, rows
	return job
}

// refusedFor fails unless the order is refused for the reason.
func refusedFor(t *testing.T, jobs *Jobs, job export.Job, reason export.Reason) {
	t.Helper()
	_, created, err := jobs.Insert(t.Context(), job, "")
	var full *export.FullError
	if created || fault.KindOf(err) != fault.Full || !errors.As(err, &full) || full.Reason != reason {
		t.Errorf("job %s: created %v, %v, want %s", job.ID, created, err, reason)
	}
}

// fresh gives the jobs as another gateway has them, which counts anew.
func fresh(jobs *Jobs, b export.Bounds) *Jobs { return NewJobs(jobs.db).Limited(3).Bounded(b) }

func TestAllTogetherHaveSoManyJobsAndRows(t *testing.T) {
	eachJobs(t, func(t *testing.T, all *Jobs) {
		rows := export.Bounds{Rows: 100}
		jobs := fresh(all, rows)
		large := orderOf("a", 1000)
		mustInsert(t, jobs, large) // nothing waits: it is taken on, or it never could be
		refusedFor(t, jobs, orderOf("b", 1), export.TooManyQueuedRows)
		again := orderOf("again", 1000)
		again.RequestedBy, again.Request = large.RequestedBy, large.Request
		if got, created, err := jobs.Insert(t.Context(), again, ""); got.ID != "a" || created || err != nil {
			t.Errorf("a double click: %s, %v, %v", got.ID, created, err)
		}
		if _, _, err := all.Cancel(t.Context(), "a", now); err != nil {
			t.Fatal(err)
		}
		jobs = fresh(all, rows)
		mustInsert(t, jobs, orderOf("c", 60))
		mustClaim(t, all, "c", 1) // one that runs counts
		mustInsert(t, jobs, orderOf("d", 40))
		refusedFor(t, jobs, orderOf("e", 1), export.TooManyQueuedRows)
		mustInsert(t, jobs, orderOf("none", 0))

		jobs = fresh(all, export.Bounds{Jobs: 4})
		mustInsert(t, jobs, orderOf("f", 1<<30))
		refusedFor(t, jobs, orderOf("g", 0), export.TooManyQueuedJobs)
		mustInsert(t, fresh(all, export.Bounds{}), orderOf("g", 0))
	})
}

// One's own bound is told first, as there one can do something.
func TestOnesOwnBoundComesBeforeThatOfAll(t *testing.T) {
	eachJobs(t, func(t *testing.T, all *Jobs) {
		jobs := NewJobs(all.db).Limited(1).Bounded(export.Bounds{Jobs: 1})
		mustInsert(t, jobs, newJob("a"))
		if _, _, err := jobs.Insert(t.Context(), newJob("b"), ""); fault.KindOf(err) != fault.TooMany {
			t.Errorf("got %v", err)
		}
	})
}

// A database that is full of jobs is not counted for each order.
func TestTheLoadIsCountedAtMostEachSecond(t *testing.T) {
	db := openTest(t, Config{Path: t.TempDir() + "/db"})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	jobs := NewJobs(db).Bounded(export.Bounds{Jobs: 3})
	jobs.room.now = func() time.Time { return at }
	elsewhere := NewJobs(db)
	counts := func(do func()) int {
		before := jobs.room.counted
		do()
		if jobs.room.counted.Equal(before) {
			return 0
		}
		return 1
	}
	for i, step := range []struct {
		after time.Duration
		other bool // another gateway has inserted one before
		full  bool
		want  int
	}{
		{0, false, false, 1}, {time.Second, false, false, 0}, {time.Millisecond, true, true, 1}, {50 * time.Millisecond, false, true, 0}, {100 * time.Millisecond, false, true, 1},
	} {
		at = at.Add(step.after)
		if step.other {
			mustInsert(t, elsewhere, orderOf("other", 1))
		}
		if n := counts(func() {
			job := orderOf(fmt.Sprint(i), 1)
			if step.full {
				refusedFor(t, jobs, job, export.TooManyQueuedJobs)
				return
			}
			mustInsert(t, jobs, job)
		}); n != step.want {
			t.Errorf("step %d: %d counts, want %d", i, n, step.want)
		}
	}
}
