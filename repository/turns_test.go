package repository

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// ordered inserts the next job of a user, a microsecond after the one before.
func ordered(t *testing.T, jobs *Jobs, user string, n int) export.Job {
	t.Helper()
	job := newJob(fmt.Sprintf("%s-%04d", user, n))
	job.RequestedBy, job.CreatedAt = user, now.Add(time.Duration(n)*time.Microsecond)
	return mustInsert(t, jobs, job)
}

func mustNext(t *testing.T, jobs *Jobs) export.Job {
	t.Helper()
	job, err := jobs.ClaimNext(t.Context(), export.QueueSmall, "w", now.Add(time.Hour), now.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestUsersTakeTurns(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		n := 0
		order := func(user string) string { n++; return ordered(t, jobs, user, n).ID }
		a1, a2, a3 := order("ann"), order("ann"), order("ann")
		b1 := order("bob")
		older := newJob("older") // as an older gateway inserts it
		older.RequestedBy = "old"
		mustInsert(t, jobs, older)
		exec(t, jobs.db, "UPDATE export_jobs SET turn = 0 WHERE id = 'older'")
		var got []string
		for range 3 {
			got = append(got, mustNext(t, jobs).ID)
		}
		c1 := order("cid") // the second turn is next: she comes after who waits for it
		b2 := order("bob")
		for range 4 {
			got = append(got, mustNext(t, jobs).ID)
		}
		if diff := cmp.Diff([]string{"older", a1, b1, a2, c1, b2, a3}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := jobs.ClaimNext(t.Context(), export.QueueSmall, "w", now, now); !errors.Is(err, export.ErrNothingDue) {
			t.Errorf("an empty queue: %v", err)
		}
	})
}

func TestAJobThatIsTriedAgainKeepsItsTurn(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		large := newJob("large")
		large.Queue = export.QueueLarge
		mustInsert(t, jobs, large) // another queue's
		first := ordered(t, jobs, "ann", 1)
		ordered(t, jobs, "ann", 2)
		ordered(t, jobs, "bob", 3)
		at := now.Add(time.Hour)
		claimed := mustNext(t, jobs)
		if diff := cmp.Diff(mustGet(t, jobs, first.ID), claimed); diff != "" || claimed.Attempt != 1 || claimed.Status != export.Running {
			t.Errorf("what is claimed is not what is stored: %s", diff)
		}
		fence := export.Fence{JobID: first.ID, Attempt: 1}
		if err := jobs.Release(t.Context(), fence, at.Add(time.Second), &export.Failure{Code: "x", At: now}); err != nil {
			t.Fatal(err)
		}
		if got := mustNext(t, jobs).ID; got != "bob-0003" {
			t.Errorf("%s runs while the first is not due", got)
		}
		job, err := jobs.ClaimNext(t.Context(), export.QueueSmall, "w", at.Add(time.Second), at.Add(time.Hour))
		if err != nil || job.ID != first.ID || job.Attempt != 2 || job.Turn != first.Turn {
			t.Errorf("then %s at attempt %d, %v", job.ID, job.Attempt, err)
		}
	})
}

// Racers of many gateways and workers: each job has a turn of its own, and each claim
// another job, until there is none.
func TestRacingOrdersAndClaimsAreOneEach(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		if won := race(t, func(i int) (bool, error) {
			job := newJob(strconv.Itoa(i))
			_, created, err := NewJobs(jobs.db).Insert(t.Context(), job, "")
			return created, err
		}); won != 24 {
			t.Fatalf("%d orders were taken", won)
		}
		var turns []int64
		for i := range 24 {
			turns = append(turns, mustGet(t, jobs, strconv.Itoa(i)).Turn)
		}
		slices.Sort(turns)
		for i, turn := range turns {
			if turn != int64(i+1) {
				t.Fatalf("turns %v", turns)
			}
		}
		if won := race(t, func(int) (bool, error) {
			_, err := jobs.ClaimNext(t.Context(), export.QueueSmall, "w", now, now.Add(time.Minute))
			return err == nil, err
		}); won != 24 {
			t.Errorf("%d claims won", won)
		}
		if won := race(t, func(int) (bool, error) {
			_, err := jobs.ClaimNext(t.Context(), export.QueueSmall, "w", now, now.Add(time.Minute))
			return !errors.Is(err, export.ErrNothingDue), nil
		}); won != 0 {
			t.Errorf("%d found something in an empty queue", won)
		}
	})
}

// Whoever comes, in whatever mixture of orders, claims and cancellations: from the
// moment that a job of the turn before has begun, nobody who comes later passes a job.
// And a requester's jobs run in the order in which they were asked for.
func TestNoNewcomerPassesAJobWhoseTurnIsNext(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { mixture(t, rand.New(rand.NewPCG(seed, 20))) })
	}
}

func mixture(t *testing.T, random *rand.Rand) {
	jobs := NewJobs(openTest(t, Config{Path: t.TempDir() + "/db"}))
	var waiting []export.Job
	var begun int64
	passable := map[string]bool{} // by a newcomer, as the turn before has not begun when it came
	for step := range 400 {
		switch n := random.IntN(10); {
		case n < 6:
			job := ordered(t, jobs, fmt.Sprintf("user%d", random.IntN(1+step/10)), step)
			for _, w := range waiting {
				if job.Turn < w.Turn && begun >= w.Turn-1 {
					t.Fatalf("job %s of turn %d passes %s of turn %d, though turn %d has begun", job.ID, job.Turn, w.ID, w.Turn, begun)
				}
				if job.Turn < w.Turn {
					passable[w.ID] = true
				}
				if w.RequestedBy == job.RequestedBy && w.Turn >= job.Turn {
					t.Fatalf("job %s comes before %s of the same user", job.ID, w.ID)
				}
			}
			waiting = append(waiting, job)
		case n < 9 && len(waiting) > 0:
			got := mustNext(t, jobs)
			begun = max(begun, got.Turn)
			at := slices.IndexFunc(waiting, func(w export.Job) bool { return w.ID == got.ID })
			for _, before := range waiting[:at] {
				if before.Turn <= got.Turn || !passable[before.ID] {
					t.Fatalf("%s of turn %d runs before %s of turn %d", got.ID, got.Turn, before.ID, before.Turn)
				}
			}
			waiting = slices.Delete(waiting, at, at+1)
		case len(waiting) > 0:
			at := random.IntN(len(waiting))
			if _, changed, err := jobs.Cancel(t.Context(), waiting[at].ID, now); err != nil || !changed {
				t.Fatal(changed, err)
			}
			waiting = slices.Delete(waiting, at, at+1)
		}
	}
}

// As many newcomers as jobs that are served, for ever: a second job is not starved.
func TestNewcomersDoNotStarveASecondJob(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		const mine = 4
		for i := range mine {
			ordered(t, jobs, "ann", i)
		}
		left := mine
		for step := 0; left > 0; step++ {
			if step > mine*mine {
				t.Fatalf("%d jobs still wait after %d others", left, step)
			}
			ordered(t, jobs, fmt.Sprintf("new%d", step), 100+step)
			if mustNext(t, jobs).RequestedBy == "ann" {
				left--
			}
		}
	})
}

// sqlitePlan is how SQLite says that it reads.
func sqlitePlan(t *testing.T, db *DB, statement string) (lines []string) {
	t.Helper()
	rows, err := db.pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement)
	if err != nil {
		t.Fatalf("%v: %s", err, statement)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail sql.NullString
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, detail.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// turnQueries are the statements of the turns and of the bounds, by the index that each reads.
func turnQueries(t *testing.T) map[string]func(*Jobs) error {
	return map[string]func(*Jobs) error{
		"export_jobs_by_queue_status_turn": func(j *Jobs) error {
			// Nothing is due yet: the claim is its look alone.
			_, err := j.ClaimNext(t.Context(), export.QueueSmall, "w", firstDay.AddDate(-1, 0, 0), now)
			if errors.Is(err, export.ErrNothingDue) {
				err = nil
			}
			if err == nil {
				_, err = j.Ahead(t.Context(), export.Job{ID: "job000900", Queue: export.QueueSmall, CreatedAt: firstDay.AddDate(0, 0, 1), Turn: 7})
			}
			return err
		},
		"export_jobs_by_queue_started_turn": func(j *Jobs) error {
			_, err := j.nextTurn(t.Context(), "user3", export.QueueSmall)
			return err
		},
		"export_jobs_one_requested_by_queue_live_turn": func(j *Jobs) error {
			_, err := j.nextTurn(t.Context(), "user3", export.QueueSmall)
			return err
		},
		"export_jobs_by_status_rows_expected": func(j *Jobs) error { _, err := j.countLoad(t.Context()); return err },
		"export_jobs_by_queue_status":         func(j *Jobs) error { _, err := j.Unfinished(t.Context()); return err },
	}
}

func TestTurnsAndBoundsReadTheirIndex(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		db := analyzed(t)
		for index, do := range turnQueries(t) {
			statements := recorded(t, db, func(db *DB) error { return do(NewJobs(db)) })
			indexed(t, db, index, statements)
			for _, s := range statements {
				plan := explain(t, db, s)
				// A highest value is read from its index while the statement is planned.
				if !slices.ContainsFunc(plan, func(r planRow) bool {
					return strings.HasPrefix(r.key, index) || strings.Contains(r.extra, "optimized away")
				}) {
					t.Errorf("%s is not used: %+v\n%s", index, plan, s)
				}
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		db := openTest(t, Config{Path: t.TempDir() + "/db"})
		for index, do := range turnQueries(t) {
			for _, s := range recorded(t, db, func(db *DB) error { return do(NewJobs(db)) }) {
				plan := strings.Join(sqlitePlan(t, db, s), "\n")
				if !strings.Contains(plan, index) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN export_jobs") {
					t.Errorf("%s is not used:\n%s\n%s", index, plan, s)
				}
			}
		}
	})
}
