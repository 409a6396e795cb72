package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
)

// Stored lists and segments outlive a release: these are of version 1, byte for byte.
var (
	listFixture = filepath.Join("testdata", "segments", "v1.snapshot")
	partFixture = filepath.Join("testdata", "segments", "v1.segment")
)

func fixtureList() (listHead, []PageToken) {
	var pages []PageToken
	for i := range 7 {
		pages = append(pages, PageToken{Rows: i + 1, Token: bytes.Repeat([]byte{byte(i)}, i)})
	}
	return listHead{JobID: "0198-job", Attempt: 2, Query: "q", At: time.Date(2026, 11, 30, 9, 0, 0, 123456000, time.UTC),
		Total: 28, Statements: 1, SegmentPages: 3, Segments: 3}, pages
}

func fixturePart() *part {
	p := &part{keys: roaring64.BitmapOf(7, 8, 1<<40), partHead: partHead{JobID: "0198-job", Snapshot: 2, Segment: 1, Attempt: 3, Form: "f", After: 6,
		Rows: 3, Deleted: 12, Pages: 3, Statements: 30, FirstKey: 1 << 40, LastKey: 8,
		FirstPageAt: time.Date(2026, 11, 30, 9, 0, 1, 0, time.UTC), LastPageAt: time.Date(2026, 11, 30, 9, 0, 2, 0, time.UTC)}}
	p.chunks = []sheet.Chunk{
		{First: 8, Rows: 2, Data: []byte("two rows"), Raw: 100, CRC: 5, Bounds: []int64{60, 70}},
		{First: 10, Rows: 1, Data: []byte("one row"), Raw: 50, CRC: 6, Bounds: []int64{60}, Losses: sheet.Losses{
			Counts: map[sheet.LossKind]int64{sheet.Cut: 1}, Places: []sheet.Loss{{Kind: sheet.Cut, Sheet: 1, Row: 10, Column: "Memo", Key: 8}}}},
	}
	return p
}

func writtenList(t *testing.T, head listHead, pages []PageToken) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeList(&b, head, cutList(pages, head.SegmentPages), pages); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheFormsOfVersion1(t *testing.T) {
	var segment bytes.Buffer
	if err := writePart(&segment, fixturePart()); err != nil {
		t.Fatal(err)
	}
	head, pages := fixtureList()
	for path, got := range map[string][]byte{listFixture: writtenList(t, head, pages), partFixture: segment.Bytes()} {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is written as %d bytes, not these %d: %q", path, len(got), len(want), got)
		}
	}
}

func TestAStoredListOfVersion1IsRead(t *testing.T) {
	b, err := os.ReadFile(listFixture)
	if err != nil {
		t.Fatal(err)
	}
	l, err := readList(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	head, pages := fixtureList()
	if diff := cmp.Diff(head, l.listHead); diff != "" {
		t.Errorf("its head (-want +got):\n%s", diff)
	}
	for segment, want := range [][]PageToken{pages[:3], pages[3:6], pages[6:]} {
		got, err := l.tokens(segment)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("segment %d (-want +got):\n%s", segment, diff)
		}
	}
	if after := []int64{l.index[0].after, l.index[1].after, l.index[2].after}; !cmp.Equal(after, []int64{0, 6, 21}) {
		t.Errorf("before its segments stand %v rows", after)
	}
	if _, err := l.tokens(3); !errors.Is(err, errSegments) {
		t.Errorf("a segment that it has not: %v", err)
	}
}

func TestAStoredSegmentOfVersion1IsRead(t *testing.T) {
	b, err := os.ReadFile(partFixture)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readPart(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want := fixturePart()
	want.Chunks, want.KeyBytes = got.Chunks, got.KeyBytes
	if diff := cmp.Diff(want.partHead, got.partHead); diff != "" {
		t.Errorf("its head (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.chunks, got.chunks); diff != "" {
		t.Errorf("its chunks (-want +got):\n%s", diff)
	}
	if !want.keys.Equals(got.keys) {
		t.Errorf("its keys are %v", got.keys)
	}
}

// Whatever is missing of a stored form, or changed in it, is seen.
func TestEveryByteOfAStoredFormCounts(t *testing.T) {
	for path, read := range map[string]func([]byte) error{
		listFixture: func(b []byte) error {
			l, err := readList(bytes.NewReader(b), int64(len(b)))
			if err == nil {
				err = l.load()
			}
			return err
		},
		partFixture: func(b []byte) error {
			_, err := readPart(bytes.NewReader(b), int64(len(b)))
			return err
		},
	} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(whole); err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			if err := read(whole[:i]); !errors.Is(err, errSegments) {
				t.Fatalf("%s cut to %d bytes: %v", path, i, err)
			}
			flipped := bytes.Clone(whole)
			flipped[i] ^= 0x10
			if err := read(flipped); !errors.Is(err, errSegments) {
				t.Fatalf("%s with another byte %d: %v", path, i, err)
			}
		}
		if err := read(append(bytes.Clone(whole), 0)); !errors.Is(err, errSegments) {
			t.Errorf("%s with a byte more: %v", path, err)
		}
	}
}

// The list of a segment is read without those of the others.
func TestTokensAreReadAlone(t *testing.T) {
	const pages = 10_000
	list := make([]PageToken, pages)
	for i := range list {
		list[i] = PageToken{Rows: 1000, Token: []byte(fmt.Sprint(i))}
	}
	b := writtenList(t, listHead{Total: 1000 * pages, SegmentPages: 10, Segments: pages / 10}, list)
	r := &counting{r: bytes.NewReader(b)}
	l, err := readList(r, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	r.bytes = 0
	got, err := l.tokens(777)
	if err != nil || len(got) != 10 || string(got[3].Token) != "7773" {
		t.Fatalf("got %v, %v", got, err)
	}
	if r.bytes > 100 {
		t.Errorf("%d of %d bytes were read", r.bytes, len(b))
	}
}

type counting struct {
	r     *bytes.Reader
	bytes int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.bytes += len(p)
	return c.r.ReadAt(p, at)
}

func FuzzStoredForms(f *testing.F) {
	for _, path := range []string{listFixture, partFixture} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := readList(bytes.NewReader(b), int64(len(b))); err == nil {
			_ = l.load() // an error or none, and no panic
		} else if !errors.Is(err, errSegments) {
			t.Errorf("a list: %v", err)
		}
		if _, err := readPart(bytes.NewReader(b), int64(len(b))); err != nil && !errors.Is(err, errSegments) {
			t.Errorf("a segment: %v", err)
		}
	})
}
