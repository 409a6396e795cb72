package repository

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// eachSegments gives a running job a, at attempt 2, of three segments; the first is done.
func eachSegments(t *testing.T, test func(t *testing.T, jobs *Jobs, segments *Segments, f export.Fence)) {
	t.Helper()
	eachEngine(t, func(t *testing.T, db *DB) {
		jobs, segments := NewJobs(db), NewSegments(db)
		mustInsert(t, jobs, newJob("a"))
		if err := jobs.Release(t.Context(), mustClaim(t, jobs, "a", 1), now, nil); err != nil {
			t.Fatal(err)
		}
		f := mustClaim(t, jobs, "a", 2)
		if err := segments.Plan(t.Context(), f, planned(1, 3, 1)); err != nil {
			t.Fatal(err)
		}
		test(t, jobs, segments, f)
	})
}

// planned gives n segments, of which the first are done.
func planned(snapshot, n, done int) (states []export.SegmentState) {
	for i := range n {
		states = append(states, export.SegmentState{Segment: i, Snapshot: snapshot, Done: i < done})
	}
	return states
}

func mustStates(t *testing.T, s *Segments, f export.Fence, from int) []export.SegmentState {
	t.Helper()
	states, err := s.States(t.Context(), f, from)
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func claimOf(f export.Fence, segment int, worker string) export.SegmentClaim {
	return export.SegmentClaim{Fence: f, Segment: segment, Worker: worker}
}

func TestTheLifeOfASegment(t *testing.T) {
	eachSegments(t, func(t *testing.T, _ *Jobs, s *Segments, f export.Fence) {
		want := planned(1, 3, 1)
		same := func(when string) {
			t.Helper()
			if diff := cmp.Diff(want, mustStates(t, s, f, 0)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		same("planned")
		c, other := claimOf(f, 1, "w1"), claimOf(f, 1, "w2")
		lease := now.Add(time.Minute)
		if snapshot, err := s.Claim(t.Context(), c, now, lease); err != nil || snapshot != 1 {
			t.Fatal(snapshot, err)
		}
		want[1].Worker, want[1].LeaseUntil = "w1", stored(lease)
		same("claimed")
		for name, err := range map[string]error{
			"a claim of another's":    second(s.Claim(t.Context(), other, now, lease)),
			"a claim of one's own":    second(s.Claim(t.Context(), c, now, lease)),
			"a claim of a done one":   second(s.Claim(t.Context(), claimOf(f, 0, "w1"), now, lease)),
			"a claim of none":         second(s.Claim(t.Context(), claimOf(f, 3, "w1"), now, lease)),
			"a renewal by another":    s.Renew(t.Context(), other, lease),
			"an end by another":       s.Done(t.Context(), other, now),
			"a release by another":    s.Free(t.Context(), other),
			"an end of an unclaimed":  s.Done(t.Context(), claimOf(f, 2, "w1"), now),
			"a renewal of a done one": s.Renew(t.Context(), claimOf(f, 0, ""), lease),
		} {
			if !errors.Is(err, export.ErrFenced) {
				t.Errorf("%s: %v", name, err)
			}
		}
		same("after what was refused")
		for range 2 { // the same lease once more is no refusal, though MySQL then changes nothing
			if err := s.Renew(t.Context(), c, lease.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Free(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want[1].Worker, want[1].LeaseUntil = "", time.Time{}
		same("free again")
		if _, err := s.Claim(t.Context(), c, now, lease); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim(t.Context(), other, lease.Add(time.Second), lease.Add(time.Hour)); err != nil {
			t.Fatalf("a claim past the lease: %v", err)
		}
		if err := s.Renew(t.Context(), c, lease); !errors.Is(err, export.ErrFenced) {
			t.Errorf("the one that was thought dead renews: %v", err)
		}
		if err := s.Done(t.Context(), other, now); err != nil {
			t.Fatal(err)
		}
		want[1].Worker, want[1].Done = "w2", true
		same("done")
		if diff := cmp.Diff(want[2:], mustStates(t, s, f, 2)); diff != "" {
			t.Errorf("from the third on (-want +got):\n%s", diff)
		}
	})
}

func second(_ int, err error) error { return err }

// Whoever makes a segment is refused once the job has moved on, however it has.
func TestSegmentsAreFencedWithTheirJob(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Jobs, export.Fence) error{
		"canceled": func(t *testing.T, j *Jobs, _ export.Fence) error {
			_, _, err := j.Cancel(t.Context(), "a", now)
			return err
		},
		"released": func(t *testing.T, j *Jobs, f export.Fence) error { return j.Release(t.Context(), f, now, nil) },
		"failed": func(t *testing.T, j *Jobs, f export.Fence) error {
			return j.Fail(t.Context(), f, export.Failure{At: now})
		},
		"claimed again": func(t *testing.T, j *Jobs, f export.Fence) error {
			err := j.Release(t.Context(), f, now, nil)
			mustClaim(t, j, "a", 3)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachSegments(t, func(t *testing.T, jobs *Jobs, s *Segments, f export.Fence) {
				c := claimOf(f, 1, "w1")
				if _, err := s.Claim(t.Context(), c, now, now.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				if err := end(t, jobs, f); err != nil {
					t.Fatal(err)
				}
				for what, err := range map[string]error{
					"claim": second(s.Claim(t.Context(), claimOf(f, 2, "w1"), now, now)), "renew": s.Renew(t.Context(), c, now),
					"done": s.Done(t.Context(), c, now), "free": s.Free(t.Context(), c), "plan": s.Plan(t.Context(), f, planned(1, 3, 0)),
				} {
					if !errors.Is(err, export.ErrFenced) {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
}

// A new attempt plans anew; the plan of a late one takes nothing from it.
func TestAPlanReplacesThoseBefore(t *testing.T) {
	eachSegments(t, func(t *testing.T, jobs *Jobs, s *Segments, before export.Fence) {
		if err := jobs.Release(t.Context(), before, now, nil); err != nil {
			t.Fatal(err)
		}
		f := mustClaim(t, jobs, "a", 3)
		want := planned(1, 1100, 7) // more than a statement takes
		if err := s.Plan(t.Context(), f, want); err != nil {
			t.Fatal(err)
		}
		if err := s.Plan(t.Context(), before, planned(2, 3, 0)); !errors.Is(err, export.ErrFenced) {
			t.Errorf("the late plan: %v", err)
		}
		if diff := cmp.Diff(want, mustStates(t, s, f, 0)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if left := mustStates(t, s, before, 0); len(left) > 0 {
			t.Errorf("of the attempt before there are %v", left)
		}
	})
}

func TestOfManyClaimsOfASegmentOneWins(t *testing.T) {
	eachSegments(t, func(t *testing.T, jobs *Jobs, s *Segments, f export.Fence) {
		for _, at := range []time.Time{now, now.Add(time.Hour)} { // free, and past its lease
			if won := race(t, func(i int) (bool, error) {
				_, err := s.Claim(t.Context(), claimOf(f, 1, fmt.Sprint(i)), at, at.Add(time.Minute))
				return notFenced(err)
			}); won != 1 {
				t.Errorf("%d claims won", won)
			}
		}
		if won := race(t, func(i int) (bool, error) { // the job's end races with its makers: none is left that goes on
			if i == 0 {
				_, changed, err := jobs.Cancel(t.Context(), "a", now)
				return changed, err
			}
			_, err := s.Claim(t.Context(), claimOf(f, 2, fmt.Sprint(i)), now, now.Add(time.Minute))
			return notFenced(err)
		}); won < 1 || won > 2 {
			t.Errorf("%d of the cancel and the claims won", won)
		}
		if _, err := s.Claim(t.Context(), claimOf(f, 2, "late"), now.Add(time.Hour), now.Add(2*time.Hour)); !errors.Is(err, export.ErrFenced) {
			t.Errorf("a claim after the cancel: %v", err)
		}
	})
}

func TestSegmentsOfEndedJobsAreForgotten(t *testing.T) {
	eachSegments(t, func(t *testing.T, jobs *Jobs, s *Segments, f export.Fence) {
		mustInsert(t, jobs, func() export.Job { j := newJob("b"); j.RequestedBy = "bob"; return j }())
		other := mustClaim(t, jobs, "b", 1)
		if err := s.Plan(t.Context(), other, planned(1, 2, 0)); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Retain(t.Context(), now, 10); n != 0 || err != nil {
			t.Errorf("of running jobs %d were removed, %v", n, err)
		}
		if _, _, err := jobs.Cancel(t.Context(), "a", now); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Retain(t.Context(), now, 10); n != 1 || err != nil {
			t.Errorf("of an ended job %d were removed, %v", n, err)
		}
		if left, kept := mustStates(t, s, f, 0), mustStates(t, s, other, 0); len(left) != 0 || len(kept) != 2 {
			t.Errorf("left are %v and %v", left, kept)
		}
		if err := s.Forget(t.Context(), "b"); err != nil || len(mustStates(t, s, other, 0)) != 0 {
			t.Errorf("forgotten: %v", err)
		}
	})
}

func TestSegmentQueriesReadAnIndex(t *testing.T) {
	db := analyzed(t)
	s, f := NewSegments(db), export.Fence{JobID: "job000004", Attempt: 1}
	for i := range 40 {
		if err := s.Plan(t.Context(), export.Fence{JobID: fmt.Sprintf("job%06d", 4+5*i), Attempt: 1}, planned(1, 100, 50)); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, db, "ANALYZE TABLE export_segments")
	c := claimOf(f, 60, "w")
	for name, do := range map[string]func(*Segments) error{
		"states": func(s *Segments) error { _, err := s.States(t.Context(), f, 20); return err },
		"life": func(s *Segments) error {
			return errors.Join(second(s.Claim(t.Context(), c, now, now)), s.Renew(t.Context(), c, now), s.Free(t.Context(), c),
				second(s.Claim(t.Context(), c, now, now)), s.Done(t.Context(), c, now))
		},
		"forget": func(s *Segments) error { return s.Forget(t.Context(), f.JobID) },
	} {
		var read []string
		for _, statement := range recorded(t, db, func(db *DB) error { return do(NewSegments(db)) }) {
			if !strings.HasPrefix(statement, "INSERT") {
				read = append(read, statement)
			}
		}
		indexed(t, db, name, read)
	}
}
