package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// The tests' big job: 100 rows in 20 pages of 5, seven segments of 3 pages.
const (
	segmentRows, segmentPageRows, segmentPages = 100, 5, 3
	segmentsOfJob                              = 7
)

var errBroken = errors.New("broken")

// breaking gives a source that breaks at the given page; -1: never.
func breaking(page int) *source {
	s := &source{total: segmentRows, page: segmentPageRows}
	s.fetch = func(_ context.Context, at int, rows []table.Row) (export.Page, error) {
		if at == page {
			return export.Page{}, errBroken
		}
		return export.Page{Rows: rows, Statements: 2}, nil
	}
	return s
}

func resumable(c *export.Config) {
	c.Segments.ResumeRows, c.Segments.Pages = segmentRows, segmentPages
}

// again gives a bench of another worker on the same store.
func (b *bench) again(t *testing.T, s *source, set ...func(*export.Config)) *bench {
	t.Helper()
	next := newBench(t, s, append([]func(*export.Config){resumable, func(c *export.Config) { c.Files, c.Segments.Files = b.files, b.files }}, set...)...)
	next.files = b.files
	return next
}

func attemptOf(n int, f sheet.Format) export.Job {
	j := csvJob()
	j.Attempt, j.Request.Format = n, f
	return j
}

// undisturbed gives the file that the job makes without segments or faults.
func undisturbed(t *testing.T, f sheet.Format) []byte {
	t.Helper()
	b := newBench(t, breaking(-1), fixedClock)
	if err := b.Run(t.Context(), attemptOf(1, f)); err != nil {
		t.Fatal(err)
	}
	return b.files.files["exports/job.1."+string(f)]
}

// Wherever an attempt broke, the next makes the same file and fetches only what
// was not kept.
func TestAnAttemptGoesOnWithWhatWasKept(t *testing.T) {
	for _, format := range []sheet.Format{sheet.CSV, sheet.XLSX} {
		want := undisturbed(t, format)
		for page := range segmentRows / segmentPageRows {
			b := newBench(t, breaking(page), resumable, fixedClock)
			if err := b.Run(t.Context(), attemptOf(1, format)); !errors.Is(err, errBroken) {
				t.Fatalf("page %d: got %v", page, err)
			}
			kept := b.files.keys("chunks/job.1.")
			if len(kept) == 0 || len(b.files.keys("exports/")) != 0 {
				t.Fatalf("page %d: the store holds %v", page, b.files.keys(""))
			}
			b = b.again(t, breaking(-1), fixedClock)
			b.source.snapshot = func() (export.Snapshot, error) { return export.Snapshot{}, errBroken } // it is not taken again
			if err := b.Run(t.Context(), attemptOf(2, format)); err != nil {
				t.Fatalf("page %d: %v", page, err)
			}
			if !bytes.Equal(b.files.files["exports/job.2."+string(format)], want) {
				t.Errorf("page %d: the %s file differs from the one of an undisturbed attempt", page, format)
			}
			r := b.attempts.receipt
			if r.Segments != segmentsOfJob || r.SegmentsReused != len(kept)-1 || r.Pages != 20 || r.Statements != 41 || !r.SnapshotAt.Equal(start) {
				t.Errorf("page %d, %d segments kept: the receipt is %+v", page, len(kept)-1, r)
			}
			if reused := int64(r.SegmentsReused); r.PagesFetched != 20-3*reused && r.PagesFetched != 20-3*reused+1 { // the last segment has 2 pages
				t.Errorf("page %d: %d segments were reused and %d pages fetched", page, reused, r.PagesFetched)
			}
			if left := b.files.keys("chunks/"); len(left) > 0 {
				t.Errorf("page %d: after the job's end the store holds %v", page, left)
			}
		}
	}
}

func fixedClock(c *export.Config) { c.Now = fixed }

// A job of a row less is made as ever, and nothing of it is kept.
func TestASmallerJobIsNotCut(t *testing.T) {
	b := newBench(t, breaking(19), func(c *export.Config) { c.Segments.ResumeRows = segmentRows + 1 })
	if err := b.Run(t.Context(), csvJob()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if keys := b.files.keys(""); len(keys) > 0 {
		t.Errorf("the store holds %v", keys)
	}
}

// What is stored counts for nothing where it is broken, of another kind or of
// another job: it is made anew, and the file is the same.
func TestWhatIsBrokenIsMadeAnew(t *testing.T) {
	want := undisturbed(t, sheet.XLSX)
	for name, c := range map[string]struct {
		spoil    func(files map[string][]byte)
		reused   int
		snapshot int // times that it is taken again
	}{
		"nothing":                  {func(map[string][]byte) {}, 6, 0},
		"a segment loses its end":  {func(f map[string][]byte) { f["chunks/job.1.2"] = f["chunks/job.1.2"][:200] }, 5, 0},
		"a segment is empty":       {func(f map[string][]byte) { f["chunks/job.1.2"] = nil }, 5, 0},
		"a bit of a segment flips": {func(f map[string][]byte) { f["chunks/job.1.2"][len(f["chunks/job.1.2"])/2] ^= 1 }, 5, 0},
		"a segment's checksum":     {func(f map[string][]byte) { f["chunks/job.1.2"][len(f["chunks/job.1.2"])-1] ^= 1 }, 5, 0},
		"a newer segment":          {func(f map[string][]byte) { f["chunks/job.1.2"][15]++ }, 5, 0},
		"a segment of another":     {func(f map[string][]byte) { f["chunks/job.1.2"] = f["chunks/job.1.3"] }, 5, 0},
		"a segment that vanished":  {func(f map[string][]byte) { delete(f, "chunks/job.1.2") }, 5, 0},
		"a foreign key":            {func(f map[string][]byte) { f["chunks/job.1.x"], f["chunks/job.x.1"] = nil, nil }, 6, 0},
		"the list loses its end":   {func(f map[string][]byte) { f["chunks/job.1.snapshot"] = f["chunks/job.1.snapshot"][:100] }, 0, 1},
		"the list is empty":        {func(f map[string][]byte) { f["chunks/job.1.snapshot"] = nil }, 0, 1},
		"a bit of the list flips":  {func(f map[string][]byte) { f["chunks/job.1.snapshot"][60] ^= 1 }, 0, 1},
		"a bit of the list's end":  {func(f map[string][]byte) { s := f["chunks/job.1.snapshot"]; s[len(s)-1] ^= 1 }, 0, 1},
		"a newer list":             {func(f map[string][]byte) { f["chunks/job.1.snapshot"][15]++ }, 0, 1},
		"no list":                  {func(f map[string][]byte) { delete(f, "chunks/job.1.snapshot") }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, breaking(19), resumable, fixedClock)
			if err := b.Run(t.Context(), attemptOf(1, sheet.XLSX)); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			c.spoil(b.files.files)
			var snapshots atomic.Int64
			b = b.again(t, breaking(-1), fixedClock)
			b.source.snapshot = func() (export.Snapshot, error) {
				snapshots.Add(1)
				return (&source{total: segmentRows, page: segmentPageRows}).Snapshot(t.Context(), csvJob().Scope, export.Request{})
			}
			if err := b.Run(t.Context(), attemptOf(2, sheet.XLSX)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.files.files["exports/job.2.xlsx"], want) {
				t.Error("the file differs from the one of an undisturbed attempt")
			}
			if r := b.attempts.receipt; r.SegmentsReused != c.reused || snapshots.Load() != int64(c.snapshot) {
				t.Errorf("%d segments were reused and %d snapshots taken, want %d and %d", r.SegmentsReused, snapshots.Load(), c.reused, c.snapshot)
			}
			if left := b.files.keys("chunks/"); len(left) > 0 {
				t.Errorf("after the job's end the store holds %v", left)
			}
		})
	}
}

// A catalog that has changed between two attempts makes other cells: no segment of
// before goes into the file.
func TestSegmentsOfOtherColumnsAreMadeAnew(t *testing.T) {
	for name, change := range map[string]func(*export.Config, *export.Job){
		"another title":    func(c *export.Config, _ *export.Job) { c.Datasets[0].Columns[0].Titles["en"] = "Number" },
		"another width":    func(c *export.Config, _ *export.Job) { c.Datasets[0].Columns[0].Width++ },
		"another type":     func(c *export.Config, _ *export.Job) { c.Datasets[0].Columns[1].Type = table.Code },
		"another zone":     func(_ *export.Config, j *export.Job) { j.Request.TimeZone = "UTC" },
		"another language": func(_ *export.Config, j *export.Job) { j.Request.Language = "ko" },
		"other columns":    func(_ *export.Config, j *export.Job) { j.Request.Columns = []string{"guest", "id"} },
		"another format":   func(_ *export.Config, j *export.Job) { j.Request.Format = sheet.XLSX },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, breaking(19), resumable)
			if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			job := attemptOf(2, sheet.CSV)
			b = b.again(t, breaking(-1), func(c *export.Config) { change(c, &job) })
			if err := b.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if r := b.attempts.receipt; r.SegmentsReused != 0 || r.Written != segmentRows || r.PagesFetched != 20 {
				t.Errorf("the receipt is %+v", r)
			}
		})
	}
	// Another scope sees other rows: not even the list is used.
	b := newBench(t, breaking(19), resumable)
	if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	job := attemptOf(2, sheet.CSV)
	job.Scope.Properties = []int64{1}
	b = b.again(t, breaking(-1))
	b.source.snapshot = func() (export.Snapshot, error) { return export.Snapshot{Total: 0}, nil }
	if err := b.Run(t.Context(), job); err != nil || b.attempts.receipt.Written != 0 {
		t.Errorf("a job of another scope: %v, %+v", err, b.attempts.receipt)
	}
}

// Rows that go between two attempts leave neither a gap nor a blank line, and the
// segments behind them are moved up.
func TestRowsDeletedBetweenAttempts(t *testing.T) {
	b := newBench(t, breaking(19), resumable)
	if err := b.Run(t.Context(), attemptOf(1, sheet.XLSX)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	delete(b.files.files, "chunks/job.1.0")
	delete(b.files.files, "chunks/job.1.3")
	counts := map[export.SegmentOutcome]*atomic.Int64{export.SegmentMade: {}, export.SegmentReused: {}, export.SegmentMoved: {}, export.SegmentLost: {}}
	source := breaking(-1)
	source.fetch = func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
		if page == 1 || page == 10 {
			return export.Page{Rows: rows[2:], Deleted: 2}, nil
		}
		return export.Page{Rows: rows}, nil
	}
	b = b.again(t, source, func(c *export.Config) { c.Segments.Count = func(o export.SegmentOutcome) { counts[o].Add(1) } })
	if err := b.Run(t.Context(), attemptOf(2, sheet.XLSX)); err != nil {
		t.Fatal(err)
	}
	if r := b.attempts.receipt; r.Expected != 100 || r.Written != 96 || r.DeletedMeanwhile != 4 || r.Distinct != 96 || r.SegmentsReused != 4 {
		t.Errorf("the receipt is %+v", r)
	}
	got := map[export.SegmentOutcome]int64{}
	for o, n := range counts {
		got[o] = n.Load()
	}
	// In the first, the page after the deleted rows is drafted with its rows where they are: all behind it moves.
	want := map[export.SegmentOutcome]int64{export.SegmentMade: 3, export.SegmentReused: 4, export.SegmentMoved: 6, export.SegmentLost: 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("segments by outcome (-want +got):\n%s", diff)
	}
}

// A run that was thought dead stores segments of the same snapshot while the next
// attempt reads and stores them too.
func TestAZombieStoringTheSameSegmentsHarmsNothing(t *testing.T) {
	b := newBench(t, breaking(7), resumable, fixedClock)
	if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	zombie := newBench(t, breaking(-1), resumable, fixedClock)
	if err := zombie.Run(t.Context(), attemptOf(1, sheet.CSV)); err != nil {
		t.Fatal(err)
	}
	both := b.again(t, breaking(-1), fixedClock)
	other := b.again(t, breaking(-1), fixedClock)
	ended := make(chan error, 1)
	go func() { ended <- other.Run(t.Context(), attemptOf(3, sheet.CSV)) }()
	err := both.Run(t.Context(), attemptOf(2, sheet.CSV))
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	want := string(undisturbed(t, sheet.CSV))
	for _, key := range []string{"exports/job.2.csv", "exports/job.3.csv"} {
		if got := string(b.files.files[key]); got != want {
			t.Errorf("%s is %.200q…", key, got)
		}
	}
}

// A store that takes the file and no segments does not fail the job.
func TestAStoreThatRefusesSegmentsFailsNoJob(t *testing.T) {
	for name, refuse := range map[string]string{"the list": "snapshot", "a segment": ".4"} {
		b := newBench(t, breaking(-1), resumable)
		store := &refusing{memory: b.files, suffix: refuse}
		b = b.again(t, breaking(-1), func(c *export.Config) { c.Segments.Files = store })
		if err := b.Run(t.Context(), csvJob()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := b.attempts.receipt; r.Written != segmentRows || r.SegmentsReused != 0 {
			t.Errorf("%s: the receipt is %+v", name, r)
		}
		if puts := store.puts.Load(); puts > segmentsOfJob { // not for the last: one more may have been under way
			t.Errorf("%s: the store was asked %d times", name, puts)
		}
		if left := b.files.keys("chunks/"); len(left) > 0 {
			t.Errorf("%s: the store holds %v", name, left)
		}
	}
}

// refusing is a store that takes no file whose key ends so.
type refusing struct {
	*memory
	suffix string
	puts   atomic.Int64
}

func (r *refusing) Put(ctx context.Context, key string, meta export.FileMeta, write func(io.Writer) error) error {
	r.puts.Add(1)
	if strings.HasSuffix(key, r.suffix) {
		return errFull
	}
	return r.memory.Put(ctx, key, meta, write)
}

// A job that was canceled while it ran leaves nothing.
func TestACanceledJobKeepsNothing(t *testing.T) {
	var b *bench
	s := breaking(-1)
	s.fetch = func(ctx context.Context, page int, rows []table.Row) (export.Page, error) {
		if page == 15 {
			b.attempts.cancel()
			<-ctx.Done()
			return export.Page{}, context.Cause(ctx)
		}
		return export.Page{Rows: rows}, nil
	}
	b = newBench(t, s, resumable)
	if err := b.Run(t.Context(), csvJob()); !errors.Is(err, export.ErrFenced) {
		t.Fatal(err)
	}
	if left := b.files.keys(""); len(left) > 0 {
		t.Errorf("the store holds %v", left)
	}
}

func TestAJobOfAChunk(t *testing.T) {
	for key, want := range map[string]string{"chunks/0198-ab.1.snapshot": "0198-ab", "chunks/0198-ab.12.3": "0198-ab", "chunks/0198": "", "exports/0198.1.csv": ""} {
		if got, ok := export.JobOfChunk(key); ok != (want != "") || ok && got != want {
			t.Errorf("%s is of job %q, %v", key, got, ok)
		}
	}
}

func TestSegmentsAreConfiguredWhole(t *testing.T) {
	_, err := export.NewRunner(export.Config{Segments: export.Segments{ResumeRows: 1, SpreadRows: 1, Pages: -1}})
	for _, name := range []string{"Files", "Jobs", "Plans", "Claims", "Sender", "Worker"} {
		if want := fmt.Sprintf("Config.Segments.%s is missing", name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
