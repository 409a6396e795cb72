package repository

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/google/go-cmp/cmp"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

// setOf is a set of the ids, in parts of at most size ids.
func setOf(t testing.TB, size int, ids ...int64) export.RowSet {
	t.Helper()
	set := export.RowSet{Dataset: "reservations", At: now}
	for run := range slices.Chunk(ids, size) {
		b := roaring64.New()
		for _, id := range run {
			b.Add(uint64(id))
		}
		keys, err := b.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		set.Parts = append(set.Parts, export.RowSetPart{Min: run[0], Max: run[len(run)-1], Rows: int64(len(run)), Keys: keys})
	}
	return set
}

// published runs a new job's attempts: of the earlier ones the sets are stored and
// then the job goes back, the last publishes.
func published(t *testing.T, r *RowSets, id string, sets ...export.RowSet) {
	t.Helper()
	mustInsert(t, r.jobs, newJob(id))
	for n, set := range sets {
		f := mustClaim(t, r.jobs, id, n+1)
		if err := r.Put(t.Context(), f, set); err != nil {
			t.Fatal(err)
		}
		var err error
		if n < len(sets)-1 {
			err = r.jobs.Release(t.Context(), f, now, nil)
		} else {
			err = r.jobs.Succeed(t.Context(), f, export.File{Key: "k", Size: 7, SHA256: "abc"}, export.Receipt{Written: 3}, now, now.Add(time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func takers(t *testing.T, r *RowSets, q audit.TakersQuery) (ids []string) {
	t.Helper()
	q.Dataset = "reservations"
	found, err := r.Takers(t.Context(), q)
	if err != nil {
		t.Fatalf("takers of %d: %v", q.ID, err)
	}
	for _, taking := range found {
		ids = append(ids, taking.JobID)
	}
	return ids
}

func eachRowSets(t *testing.T, test func(t *testing.T, r *RowSets)) {
	t.Helper()
	eachEngine(t, func(t *testing.T, db *DB) { test(t, NewRowSets(db)) })
}

func TestTakersAreThoseWhoseFileHasTheRow(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		published(t, r, "a", setOf(t, 9, 1, 3, 5))
		published(t, r, "b", setOf(t, 9, 2, 5), setOf(t, 2, 4, 5, 6, 9)) // its first attempt had 2
		published(t, r, "c", setOf(t, 9, 5, 7))
		if err := r.jobs.Expire(t.Context(), "c", now.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		other := setOf(t, 9, 5)
		other.Dataset = "rooms"
		published(t, r, "d", other)
		published(t, r, "empty", setOf(t, 9))
		mustInsert(t, r.jobs, newJob("running"))
		if err := r.Put(t.Context(), mustClaim(t, r.jobs, "running", 1), setOf(t, 9, 5)); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64][]string{
			1: {"a"}, 2: nil, 3: {"a"}, 4: {"b"}, 5: {"c", "b", "a"}, 6: {"b"}, 7: {"c"}, 8: nil, 9: {"b"}, 10: nil, 0: nil, 1 << 62: nil,
		} {
			if diff := cmp.Diff(want, takers(t, r, audit.TakersQuery{ID: id, Limit: 9})); diff != "" {
				t.Errorf("takers of %d (-want +got):\n%s", id, diff)
			}
		}
		for name, test := range map[string]struct {
			q    audit.TakersQuery
			want []string
		}{
			"a page":       {audit.TakersQuery{ID: 5, Limit: 2}, []string{"c", "b"}},
			"the next one": {audit.TakersQuery{ID: 5, Limit: 2, Before: "b"}, []string{"a"}},
			"no more":      {audit.TakersQuery{ID: 5, Limit: 2, Before: "a"}, nil},
		} {
			if diff := cmp.Diff(test.want, takers(t, r, test.q)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		for _, limit := range []int{0, audit.MaxTakings + 1} {
			if _, err := r.Takers(t.Context(), audit.TakersQuery{ID: 5, Limit: limit}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	})
}

// More sets than one statement gives, of which few have the row.
func TestTakersAreFoundAmongMany(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		var want []string
		for n := range 2*holdingBatch + 5 {
			id, rows := fmt.Sprintf("j%03d", n), setOf(t, 9, 1, 9)
			if n%50 == 0 {
				rows, want = setOf(t, 9, 1, 5, 9), append([]string{id}, want...)
			}
			published(t, r, id, rows)
		}
		if diff := cmp.Diff(want, takers(t, r, audit.TakersQuery{ID: 5, Limit: 9})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestATakingTellsWhoAskedAndWhoRead(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		published(t, r, "a", setOf(t, 9, 5))
		published(t, r, "b", setOf(t, 9, 5))
		mustRecord(t, r.audit,
			audit.Event{ID: "e1", At: now, Actor: "ann", ActorName: "Ann A", Action: audit.Create, JobID: "a"},
			audit.Event{ID: "e2", At: now.Add(time.Second), Actor: "bob", ActorName: "Bob B", Action: audit.Create, JobID: "a"},
			audit.Event{ID: "e3", At: now.Add(time.Second), Actor: "ann", Action: audit.Cancel, JobID: "a"})
		reads := audit.MaxDownloads + 3
		for n := range reads {
			mustRecord(t, r.audit, audit.Event{ID: fmt.Sprintf("r%04d", n), At: now.Add(time.Minute), Actor: "ann", Action: audit.Download, JobID: "a"})
		}
		got, err := r.Takers(t.Context(), audit.TakersQuery{Dataset: "reservations", ID: 5, Limit: 9})
		if err != nil || len(got) != 2 {
			t.Fatalf("%d takings, %v", len(got), err)
		}
		a := got[1]
		if a.DownloadCount != reads || len(a.Downloads) != audit.MaxDownloads || a.Downloads[0].ID != fmt.Sprintf("r%04d", reads-1) {
			t.Errorf("%d downloads, %d of them listed", a.DownloadCount, len(a.Downloads))
		}
		a.DownloadCount, a.Downloads = 0, nil
		want := audit.Taking{JobID: "a", By: "ann", ByName: "Ann A", At: stored(now), Dataset: "reservations", Columns: []string{"id", "code"},
			Rows: 3, Bytes: 7, SHA256: "abc"}
		if diff := cmp.Diff(want, a); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		want.JobID, want.ByName = "b", ""
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func storedSets(t *testing.T, r *RowSets) (left []export.Fence) {
	t.Helper()
	left, err := r.fences(t.Context(), "SELECT DISTINCT job_id, attempt FROM export_row_sets ORDER BY job_id, attempt")
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestSetsThatNobodyWillAskForAreRemoved(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		published(t, r, "again", setOf(t, 9, 1), setOf(t, 1, 1, 2, 3))
		published(t, r, "silent", setOf(t, 9, 1))
		for id, end := range map[string]func(f export.Fence) error{
			"failed":  func(f export.Fence) error { return r.jobs.Fail(t.Context(), f, export.Failure{At: now}) },
			"queued":  func(f export.Fence) error { return r.jobs.Release(t.Context(), f, now, nil) },
			"running": func(export.Fence) error { return nil },
		} {
			mustInsert(t, r.jobs, newJob(id))
			f := mustClaim(t, r.jobs, id, 1)
			if err := r.Put(t.Context(), f, setOf(t, 9, 1)); err != nil {
				t.Fatal(err)
			}
			if err := end(f); err != nil {
				t.Fatal(err)
			}
		}
		mustRecord(t, r.audit, audit.Event{ID: "e", At: now, Action: audit.Create, JobID: "again"})
		retain := func(when string, before time.Time, limit, want int, left ...export.Fence) {
			t.Helper()
			removed, err := r.Retain(t.Context(), before, limit)
			if diff := cmp.Diff(left, storedSets(t, r)); diff != "" || removed != want || err != nil {
				t.Errorf("%s: %d removed, want %d, %v (-want +got):\n%s", when, removed, want, err, diff)
			}
		}
		again, running, silent := export.Fence{JobID: "again", Attempt: 2}, export.Fence{JobID: "running", Attempt: 1}, export.Fence{JobID: "silent", Attempt: 1}
		if removed, err := r.Retain(t.Context(), now, 2); removed != 2 || err != nil {
			t.Errorf("%d of two removed, %v", removed, err)
		}
		retain("those that published nothing", now, 9, 1, again, running, silent)
		retain("nothing is old", now, 9, 0, again, running, silent)
		retain("old, and one in the audit still", now.Add(time.Second), 9, 2, again)
		if removed, err := r.audit.Retain(t.Context(), now.Add(time.Second), 9); removed != 1 || err != nil {
			t.Fatalf("%d events removed, %v", removed, err)
		}
		retain("its audit is gone", now.Add(time.Second), 9, 1)
	})
}

func TestManySetsAreRemovedInBatches(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		var rows [][]any
		for n := range 1200 {
			rows = append(rows, []any{fmt.Sprintf("gone%04d", n), 1, 0, "reservations", 1, 1, 1, moment{now}, []byte{}})
		}
		insert(t, r.db, "export_row_sets (job_id, attempt, part, dataset, min_id, max_id, row_count, created_at, row_keys)", rows)
		for _, want := range []int{1100, 100, 0} {
			if removed, err := r.Retain(t.Context(), now, 1100); removed != want || err != nil {
				t.Errorf("%d removed, want %d, %v", removed, want, err)
			}
		}
	})
}

// 3,000,000 rows whose ids lie apart: some MiB, more than one part may have.
func TestASetOfMillionsIsKept(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		const parts, rows, apart = 12, 250_000, 97
		var set export.RowSet
		for p := range int64(parts) {
			ids := make([]int64, rows)
			for i := range ids {
				ids[i] = (p*rows+int64(i))*apart + 1
			}
			set.Parts = append(set.Parts, setOf(t, rows, ids...).Parts...)
		}
		set.Dataset, set.At = "reservations", now
		published(t, r, "large", set)
		for _, n := range []int64{0, 1, rows, 1_234_567, parts*rows - 1} {
			if got := takers(t, r, audit.TakersQuery{ID: n*apart + 1, Limit: 1}); len(got) != 1 {
				t.Errorf("row %d: taken out by %v", n*apart+1, got)
			}
			if got := takers(t, r, audit.TakersQuery{ID: n*apart + 2, Limit: 1}); len(got) != 0 {
				t.Errorf("row %d: taken out by %v", n*apart+2, got)
			}
		}
	})
}

func TestASpoiledSetIsNotTakenForOneWithoutTheRow(t *testing.T) {
	eachRowSets(t, func(t *testing.T, r *RowSets) {
		published(t, r, "a", setOf(t, 9, 1, 5))
		exec(t, r.db, "UPDATE export_row_sets SET row_keys = ?", []byte{1, 2, 3})
		if got, err := r.Takers(t.Context(), audit.TakersQuery{Dataset: "reservations", ID: 3, Limit: 9}); err == nil {
			t.Errorf("got %v", got)
		}
	})
}
