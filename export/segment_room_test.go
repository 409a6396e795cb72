package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
)

// fleeting is a store as S3 is one: what has been removed can no longer be read by
// those who had opened it. It refuses some files, as refusing does.
type fleeting struct{ refusing }

func (f *fleeting) Open(ctx context.Context, key string) (export.Reader, error) {
	file, err := f.refusing.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return fleetingFile{file, f, key}, nil
}

type fleetingFile struct {
	export.Reader
	store *fleeting
	key   string
}

func (f fleetingFile) ReadAt(p []byte, off int64) (int, error) {
	if len(f.store.keys(f.key)) == 0 {
		return 0, fault.New(fault.NotFound, "The file does not exist.")
	}
	return f.Reader.ReadAt(p, off)
}

// An attempt that goes on with a stored list needs it no more once it has begun: a
// store that then takes no segment, so that all of them are removed, fails no job.
func TestAResumedAttemptOutlivesItsStoredList(t *testing.T) {
	b := newBench(t, breaking(4), resumable)
	if err := b.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	store := &fleeting{refusing{memory: b.files, suffix: ".2"}}
	b = b.again(t, breaking(-1), func(c *export.Config) { c.Segments.Files = store })
	if err := b.Run(t.Context(), attemptOf(2, sheet.CSV)); err != nil {
		t.Fatal(err)
	}
	if r := b.attempts.receipt; r.Written != segmentRows || r.Segments != segmentsOfJob {
		t.Errorf("the receipt is %+v", r)
	}
}

// small is a store with room for so many bytes in all.
type small struct {
	*memory
	room int
}

func (s *small) Put(ctx context.Context, key string, meta export.FileMeta, write func(io.Writer) error) error {
	if err := s.memory.Put(ctx, key, meta, write); err != nil {
		return err
	}
	if s.bytes() <= s.room {
		return nil
	}
	return errors.Join(fmt.Errorf("write %s: %w", key, export.ErrNoRoom), s.Delete(ctx, key))
}

func (s *small) bytes() (n int) {
	for _, key := range s.keys("") {
		s.mu.Lock()
		n += len(s.files[key])
		s.mu.Unlock()
	}
	return n
}

// What an earlier attempt has kept may be what the file has no room for: it goes,
// and the attempt after that makes the file.
func TestWhatIsKeptMakesRoomForTheFile(t *testing.T) {
	want := undisturbed(t, sheet.XLSX)
	b := newBench(t, breaking(19), resumable, fixedClock)
	if err := b.Run(t.Context(), attemptOf(1, sheet.XLSX)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	store := &small{memory: b.files}
	store.room = store.bytes() + len(want)/2
	b = b.again(t, breaking(-1), fixedClock, func(c *export.Config) { c.Files, c.Segments.Files = store, store })
	if err := b.Run(t.Context(), attemptOf(2, sheet.XLSX)); !errors.Is(err, export.ErrNoRoom) {
		t.Fatalf("there is room after all: %v", err)
	}
	if left := b.files.keys(""); len(left) > 0 {
		t.Errorf("the store holds %v", left)
	}
	if err := b.Run(t.Context(), attemptOf(3, sheet.XLSX)); err != nil {
		t.Fatal(err)
	}
	if r := b.attempts.receipt; r.Segments != 0 || string(b.files.files["exports/job.3.xlsx"]) != string(want) {
		t.Errorf("the file differs, or segments were kept of it: %+v", r)
	}
}

// A helper whose segment is no longer wanted when it stores it has learnt nothing of
// the store, and goes on helping.
func TestAHelperWhoseStoringIsCutOffGoesOnHelping(t *testing.T) {
	fence := export.Fence{JobID: "job", Attempt: 1}
	kept := newBench(t, breaking(19), resumable, fixedClock)
	if err := kept.Run(t.Context(), attemptOf(1, sheet.CSV)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	store := &cutting{memory: kept.files, stop: stop}
	b, st := spread(t, breaking(-1), func(c *export.Config) { c.Files, c.Segments.Files = kept.files, store })
	if err := st.Plan(t.Context(), fence, []export.SegmentState{{Snapshot: 1}, {Segment: 1, Snapshot: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := b.MakeSegment(ctx, fence, 1); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := b.MakeSegment(t.Context(), fence, 1); err != nil {
		t.Errorf("the next segment: %v", err)
	}
}

// cutting is a store whose first file is no longer wanted once it is there.
type cutting struct {
	*memory
	stop context.CancelFunc
	cut  atomic.Bool
}

func (c *cutting) Put(ctx context.Context, key string, meta export.FileMeta, write func(io.Writer) error) error {
	if !c.cut.Swap(true) {
		c.stop()
	}
	return c.memory.Put(ctx, key, meta, write)
}
