package repository

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
)

func TestNoNumberOfSimultaneousInsertsPassesTheBound(t *testing.T) {
	const bound = 5
	eachJobs(t, func(t *testing.T, all *Jobs) {
		jobs := all.Limited(bound)
		for round := range 3 {
			insert := func(owner string) func(i int) (bool, error) {
				return func(i int) (bool, error) {
					job := newJob(fmt.Sprintf("%s-%d-%02d", owner, round, i))
					job.RequestedBy = owner
					_, created, err := jobs.Insert(t.Context(), job, "")
					if err != nil && fault.KindOf(err) == fault.TooMany {
						err = nil
					}
					return created, err
				}
			}
			var wg sync.WaitGroup
			won := map[string]int{}
			var mu sync.Mutex
			for _, owner := range []string{"ann", "bob"} {
				wg.Go(func() {
					n := race(t, insert(owner))
					mu.Lock()
					defer mu.Unlock()
					won[owner] = n
				})
			}
			wg.Wait()
			if diff := cmp.Diff(map[string]int{"ann": bound, "bob": bound}, won); diff != "" {
				t.Errorf("round %d (-want +got):\n%s", round, diff)
			}
			for _, owner := range []string{"ann", "bob"} {
				endAll(t, jobs, owner)
			}
		}
	})
}

// endAll ends the live jobs of a requester, each in another way.
func endAll(t *testing.T, jobs *Jobs, owner string) {
	t.Helper()
	live, err := jobs.Live(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range live {
		var err error
		switch i % 4 {
		case 0:
			_, _, err = jobs.Cancel(t.Context(), j.ID, now)
		case 1:
			_, _, err = jobs.Revoke(t.Context(), j.ID, export.Failure{Code: "x", At: now})
		case 2:
			err = jobs.Fail(t.Context(), mustClaim(t, jobs, j.ID, 1), export.Failure{Code: "x", At: now})
		case 3:
			err = jobs.Succeed(t.Context(), mustClaim(t, jobs, j.ID, 1), export.File{Key: "k"}, export.Receipt{}, now, now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAtTheBoundARepeatedRequestIsStillTheJobThatIsThere(t *testing.T) {
	eachJobs(t, func(t *testing.T, all *Jobs) {
		unbounded := mustInsert(t, all, newJob("before")) // as of a release without slots
		jobs := all.Limited(2)
		if _, created, err := jobs.Insert(t.Context(), newJob("a"), "key"); err != nil || !created {
			t.Fatal(created, err)
		}
		if _, created, err := jobs.Insert(t.Context(), newJob("b"), ""); created || fault.KindOf(err) != fault.TooMany {
			t.Errorf("past the bound: %v, %v", created, err)
		}
		for key, id := range map[string]string{"": unbounded.ID, "key": "a"} {
			again := newJob("again")
			again.Request = newJob(id).Request
			if got, created, err := jobs.Insert(t.Context(), again, key); got.ID != id || created || err != nil {
				t.Errorf("key %q again: %s, %v, %v", key, got.ID, created, err)
			}
		}
		other := newJob("other")
		other.RequestedBy = "bob"
		mustInsert(t, jobs, other)
		mustClaim(t, jobs, "a", 1) // a running job counts
		if _, _, err := jobs.Insert(t.Context(), newJob("b"), ""); fault.KindOf(err) != fault.TooMany {
			t.Errorf("one of two running: %v", err)
		}
		if _, _, err := jobs.Cancel(t.Context(), "before", now); err != nil {
			t.Fatal(err)
		}
		mustInsert(t, jobs, newJob("b"))
	})
}

func TestARevokedJobSaysWhyAndEndsForGood(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		why := export.Failure{Code: "permission-lost", Message: "No longer yours.", At: now}
		for _, id := range []string{"queued", "running", "ended"} {
			mustInsert(t, jobs, newJob(id))
		}
		fence := mustClaim(t, jobs, "running", 1)
		if _, _, err := jobs.Cancel(t.Context(), "ended", now); err != nil {
			t.Fatal(err)
		}
		live, err := jobs.Live(t.Context(), "ann")
		if err != nil || len(live) != 2 {
			t.Fatalf("%d live jobs, %v", len(live), err)
		}
		for id, want := range map[string]bool{"queued": true, "running": true, "ended": false} {
			job, changed, err := jobs.Revoke(t.Context(), id, why)
			if err != nil || changed != want || job.Status != export.Canceled {
				t.Errorf("%s: %s, %v, %v", id, job.Status, changed, err)
			}
			if (job.Failure != nil) != want || want && job.Failure.Code != why.Code {
				t.Errorf("%s: failure %+v", id, job.Failure)
			}
		}
		fencedWrites(t, jobs, fence)
		if _, _, err := jobs.Revoke(t.Context(), "none", why); fault.KindOf(err) != fault.NotFound {
			t.Errorf("no job: %v", err)
		}
		if live, err := jobs.Live(t.Context(), "ann"); err != nil || len(live) != 0 {
			t.Errorf("%d live jobs are left, %v", len(live), err)
		}
	})
}

func TestMeasuredGivesTheLastOfOneKind(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		for i := range export.MeasuredRows + 3 {
			job := newJob(fmt.Sprintf("j%02d", i))
			job.CreatedAt = now.Add(time.Duration(i) * time.Minute)
			if i == 1 {
				job.Request.Format = sheet.CSV
			}
			mustInsert(t, jobs, job)
			f := mustClaim(t, jobs, job.ID, 1)
			if err := jobs.Succeed(t.Context(), f, export.File{Key: "k", Size: int64(1000 + i)}, export.Receipt{Written: 500}, now.Add(1500*time.Millisecond), now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		mustInsert(t, jobs, newJob("waits"))
		got, err := jobs.Measured(t.Context(), "reservations", sheet.XLSX)
		if err != nil || len(got) != export.MeasuredRows {
			t.Fatalf("%d, %v", len(got), err)
		}
		want := export.Measured{Rows: 500, Columns: 2, Bytes: 1000 + export.MeasuredRows + 2, Took: 1500 * time.Millisecond}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("the newest (-want +got):\n%s", diff)
		}
		if got, err := jobs.Measured(t.Context(), "reservations", sheet.CSV); err != nil || len(got) != 1 || got[0].Bytes != 1001 {
			t.Errorf("CSV: %+v, %v", got, err)
		}
		if got, err := jobs.Measured(t.Context(), "payments", sheet.CSV); err != nil || len(got) != 0 {
			t.Errorf("another dataset: %+v, %v", got, err)
		}
	})
}

func TestGrantsAreKeptAsTheyWereSeenLast(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		grants := NewGrants(db)
		if _, err := grants.Get(t.Context(), "ann"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("one who was never seen: %v", err)
		}
		for _, want := range []access.Grant{
			{Subject: "ann", Name: "Ann 김", Permissions: access.Permissions(), MaxRows: 7, SeenAt: stored(now)},
			{Subject: "bob", Permissions: []access.Permission{access.CreateExports}, Properties: []int64{1, 9}, SeenAt: stored(now)},
			{Subject: "ann", Name: "Ann", Permissions: []access.Permission{access.ReadAudit}, Properties: []int64{}, SeenAt: stored(now.Add(time.Minute))},
			{Subject: "ann", SeenAt: stored(now)},
		} {
			if err := grants.Put(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, err := grants.Get(t.Context(), want.Subject)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if bob, err := grants.Get(t.Context(), "bob"); err != nil || len(bob.Properties) != 2 {
			t.Errorf("another's grant: %+v, %v", bob, err)
		}
	})
}
