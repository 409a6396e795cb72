package export_test

import (
	"context"
	"errors"
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
