package export_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// spread is a bench whose jobs are spread over its worker and those of help.
func spread(t *testing.T, s *source, set ...func(*export.Config)) (*bench, *segmentTable) {
	t.Helper()
	st := &segmentTable{}
	b := newBench(t, s, append([]func(*export.Config){resumable, fixedClock, st.use("joiner")}, set...)...)
	st.job = b.attempts
	return b, st
}

func (s *segmentTable) use(worker string) func(*export.Config) {
	return func(c *export.Config) {
		c.Segments.SpreadRows, c.Segments.Plans, c.Segments.Claims, c.Segments.Sender, c.Segments.Worker = segmentRows, s, s, s, worker
	}
}

// helper gives another worker on the same job table and store.
func (b *bench) helper(t *testing.T, st *segmentTable, s *source, set ...func(*export.Config)) *bench {
	t.Helper()
	return b.again(t, s, append([]func(*export.Config){fixedClock, st.use("helper"), func(c *export.Config) {
		c.Attempts, c.Segments.Jobs = b.attempts, b.attempts
	}}, set...)...)
}

// same fails unless the job's file is that of an undisturbed run, all in one attempt.
func (b *bench) same(t *testing.T, key string, f sheet.Format) *export.Receipt {
	t.Helper()
	if string(b.files.files[key]) != string(undisturbed(t, f)) {
		t.Error("the file differs from the one of an undisturbed attempt")
	}
	r := b.attempts.receipt
	if r.Segments != segmentsOfJob || r.Pages != 20 || r.Distinct != segmentRows {
		t.Errorf("the receipt is %+v", r)
	}
	if left := b.files.keys("chunks/"); len(left) > 0 {
		t.Errorf("the store holds %v", left)
	}
	return r
}

// Tasks are hints: where nobody takes them, where they cannot be sent and where the
// job cannot be planned, it is made all the same.
func TestASpreadJobIsMadeAlone(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*segmentTable)
		sent int
	}{
		"nobody takes a task":   {func(*segmentTable) {}, segmentsOfJob},
		"no task can be sent":   {func(s *segmentTable) { s.send = func(export.Job, int) error { return errBroken } }, 1},
		"the table fails twice": {func(s *segmentTable) { s.broken = failing(2) }, segmentsOfJob},
	} {
		t.Run(name, func(t *testing.T) {
			b, st := spread(t, breaking(-1), func(c *export.Config) { c.Now = time.Now })
			c.set(st)
			if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); err != nil {
				t.Fatal(err)
			}
			if r := b.same(t, "exports/job.1.csv", sheet.CSV); r.SegmentsElsewhere != 0 || r.PagesFetched != 20 {
				t.Errorf("the receipt is %+v", r)
			}
			if len(st.sent) != c.sent {
				t.Errorf("sent were %v", st.sent)
			}
		})
	}
}

// failing gives an answer that is an error so many times.
func failing(times int64) func() error {
	var n atomic.Int64
	return func() error {
		if n.Add(1) <= times {
			return fault.New(fault.Unavailable, "The database does not answer.")
		}
		return nil
	}
}

// Others make segments while the file is joined, and every row is in it once.
func TestASpreadJobIsMadeByMany(t *testing.T) {
	for _, format := range []sheet.Format{sheet.CSV, sheet.XLSX} {
		b, st := spread(t, breaking(-1), func(c *export.Config) { c.Now = time.Now })
		helper := b.helper(t, st, breaking(-1), func(c *export.Config) { c.Now = time.Now })
		b.attempts.format = format
		var helping sync.WaitGroup
		st.send = func(j export.Job, segment int) error {
			if segment%2 == 0 {
				return nil
			}
			made := make(chan error, 1)
			helping.Go(func() {
				made <- helper.MakeSegment(t.Context(), export.Fence{JobID: j.ID, Attempt: j.Attempt}, segment)
			})
			return <-made
		}
		if err := b.Run(t.Context(), attemptOf(1, format)); err != nil {
			t.Fatal(err)
		}
		helping.Wait()
		found, err := sheet.Verify(t.Context(), format, mustOpen(t, b, b.attempts.file.Key), b.attempts.file.Size)
		if err != nil || found.Rows() != segmentRows {
			t.Errorf("%s: found %+v, %v", format, found, err)
		}
		if r := b.attempts.receipt; r.SegmentsElsewhere != 3 || r.SegmentsReused != 0 || r.PagesFetched != 20 || r.Distinct != segmentRows {
			t.Errorf("%s: the receipt is %+v", format, r)
		}
		if diff := cmp.Diff(map[string]int{"joiner": 4, "helper": 3}, st.claims); diff != "" {
			t.Errorf("%s: claims (-want +got):\n%s", format, diff)
		}
		if left := b.files.keys("chunks/"); len(left) > 0 || st.states != nil {
			t.Errorf("%s: left are %v and %v", format, left, st.states)
		}
	}
}

// A helper that falls silent is waited for as long as its lease, and costs its segments.
func TestALostHelperCostsItsSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := map[export.SegmentOutcome]*atomic.Int64{export.SegmentMade: {}, export.SegmentReused: {}, export.SegmentMoved: {}, export.SegmentLost: {}}
		b, st := spread(t, breaking(-1), func(c *export.Config) {
			c.Now = time.Now
			c.Segments.Count = func(o export.SegmentOutcome) { counts[o].Add(1) }
		})
		began := time.Now()
		st.send = func(j export.Job, segment int) error {
			if segment != 1 && segment != 2 {
				return nil
			}
			_, err := st.Claim(t.Context(), export.SegmentClaim{Fence: export.Fence{JobID: j.ID, Attempt: 1}, Segment: segment, Worker: "silent"}, began, began.Add(time.Second))
			return err
		}
		if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("it took %v, the lease is 1 s", took)
		}
		if lost, made := counts[export.SegmentLost].Load(), counts[export.SegmentMade].Load(); lost != 2 || made != segmentsOfJob {
			t.Errorf("%d segments were lost and %d made", lost, made)
		}
	})
}

// A segment that is said to be done and cannot be read is made by who joins.
func TestADoneSegmentThatIsBrokenIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(*bench){
		"gone":   func(b *bench) { delete(b.files.files, "chunks/job.1.3") },
		"broken": func(b *bench) { b.files.files["chunks/job.1.3"][40] ^= 1 },
	} {
		b, st := spread(t, breaking(-1), func(c *export.Config) { c.Now = time.Now })
		helper := b.helper(t, st, breaking(-1))
		st.send = func(j export.Job, segment int) error {
			if segment != 3 {
				return nil
			}
			err := helper.MakeSegment(t.Context(), export.Fence{JobID: j.ID, Attempt: j.Attempt}, segment)
			b.files.mu.Lock()
			defer b.files.mu.Unlock()
			spoil(b)
			return err
		}
		if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); err != nil {
			t.Fatal(err)
		}
		if r := b.same(t, "exports/job.1.csv", sheet.CSV); r.SegmentsElsewhere != 0 {
			t.Errorf("%s: the receipt is %+v", name, r)
		}
	}
}

// What an attempt has kept is not made again by the helpers of the next.
func TestASpreadJobIsResumed(t *testing.T) {
	b := newBench(t, breaking(11), resumable, fixedClock) // in segment 3
	if err := b.Run(t.Context(), attemptOf(1, sheet.XLSX)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	kept := len(b.files.keys("chunks/job.1.")) - 1
	st := &segmentTable{}
	b = b.again(t, breaking(-1), fixedClock, st.use("joiner"))
	st.job = b.attempts
	if err := b.Run(t.Context(), attemptOf(2, sheet.XLSX)); err != nil {
		t.Fatal(err)
	}
	if r := b.same(t, "exports/job.2.xlsx", sheet.XLSX); r.SegmentsReused != kept || len(st.sent) != segmentsOfJob-kept {
		t.Errorf("%d were kept, %v sent: the receipt is %+v", kept, st.sent, r)
	}
}

// The end of the job ends those who make its segments, and they leave nothing.
func TestACanceledJobEndsItsHelpers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := func() func(context.Context, int, []table.Row) (export.Page, error) {
			return func(ctx context.Context, _ int, _ []table.Row) (export.Page, error) {
				<-ctx.Done()
				return export.Page{}, context.Cause(ctx)
			}
		}
		b, st := spread(t, breaking(-1), func(c *export.Config) { c.Now = time.Now })
		b.source.fetch = block()
		helping := breaking(-1)
		helping.fetch = block()
		helper := b.helper(t, st, helping, func(c *export.Config) { c.Now = time.Now })
		ended := make(chan error, 1)
		st.send = func(j export.Job, segment int) error {
			if segment == 5 {
				go func() {
					ended <- helper.MakeSegment(t.Context(), export.Fence{JobID: j.ID, Attempt: j.Attempt}, segment)
				}()
			}
			return nil
		}
		joined := make(chan error, 1)
		go func() { joined <- b.Run(t.Context(), attemptOf(1, sheet.CSV)) }()
		synctest.Wait()
		b.attempts.cancel()
		canceled := time.Now()
		if err := <-joined; !errors.Is(err, export.ErrFenced) {
			t.Errorf("the joiner ended with %v", err)
		}
		if err := <-ended; !errors.Is(err, export.ErrFenced) {
			t.Errorf("the helper ended with %v", err)
		}
		if took := time.Since(canceled); took > 20*time.Millisecond { // two reports
			t.Errorf("it took %v", took)
		}
		if left := b.files.keys(""); len(left) > 0 {
			t.Errorf("the store holds %v", left)
		}
	})
}

func TestSegmentsThatNobodyNeedsAreNotMade(t *testing.T) {
	b, st := spread(t, breaking(-1))
	if err := st.Plan(t.Context(), export.Fence{JobID: "job", Attempt: 1}, []export.SegmentState{{Snapshot: 1, Done: true}, {Snapshot: 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		before  func()
		attempt int
		segment int
	}{
		{"of another attempt", func() {}, 2, 1},
		{"that is done", func() {}, 1, 0},
		{"of an ended job", b.attempts.cancel, 1, 1},
	} {
		c.before()
		if err := b.MakeSegment(t.Context(), export.Fence{JobID: "job", Attempt: c.attempt}, c.segment); !errors.Is(err, export.ErrFenced) {
			t.Errorf("a segment %s: %v", c.name, err)
		}
	}
	if len(st.claims) > 0 || len(b.files.keys("")) > 0 {
		t.Errorf("claimed were %v, the store holds %v", st.claims, b.files.keys(""))
	}
}

// A helper whose fetches or whose store fail gives the segment back, and after the
// store has failed it takes no other for a while.
func TestAHelperThatFailsGivesItsSegmentBack(t *testing.T) {
	fence := export.Fence{JobID: "job", Attempt: 1}
	kept := newBench(t, breaking(19), resumable, fixedClock)
	if err := kept.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source *source
		store  func(*memory) export.SegmentFiles
		again  error
	}{
		"fetch": {breaking(4), func(m *memory) export.SegmentFiles { return m }, errBroken},
		"store": {breaking(-1), func(m *memory) export.SegmentFiles { return &refusing{memory: m, suffix: ".1"} }, export.ErrFenced},
	} {
		b, st := spread(t, c.source, func(c2 *export.Config) { c2.Files, c2.Segments.Files = kept.files, c.store(kept.files) })
		if err := st.Plan(t.Context(), fence, []export.SegmentState{{Snapshot: 1}, {Segment: 1, Snapshot: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := b.MakeSegment(t.Context(), fence, 1); err == nil || errors.Is(err, export.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
		if s := st.states[1]; s.Done || s.Worker != "" || !s.LeaseUntil.IsZero() {
			t.Errorf("%s: the segment is %+v", name, s)
		}
		if err := b.MakeSegment(t.Context(), fence, 1); !errors.Is(err, c.again) {
			t.Errorf("%s, once more: %v", name, err)
		}
	}
}
