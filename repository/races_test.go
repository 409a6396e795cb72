package repository

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
)

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

// When an attempt starts is the queue's to say: its clock may be another one, and a
// message refused as too early would be lost.
func TestAClaimDoesNotAskForTheTime(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		job := newJob("a")
		job.RunAt = now.Add(time.Microsecond)
		mustInsert(t, jobs, job)
		f := export.Fence{JobID: "a", Attempt: 1}
		if _, err := jobs.Claim(t.Context(), f, "w", now, now); err != nil {
			t.Errorf("a microsecond early: %v", err)
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
