package sheet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// sampleChunk has each field set.
func sampleChunk() sheet.Chunk {
	c := sheet.Chunk{Sheet: 3, First: 1_048_576, Rows: 3, Data: []byte("data\x00\xff"), Raw: 4 << 30, CRC: math.MaxUint32, Bounds: []int64{0, 300, math.MaxInt64}}
	c.Losses.Add(sheet.Loss{Kind: sheet.Cut, Sheet: 4, Row: 1_048_576, Column: "메모\xff", Key: math.MinInt64})
	c.Losses.Add(sheet.Loss{Kind: sheet.Replaced, Sheet: 4, Row: 1_048_577, Column: "", Key: math.MaxInt64})
	return c
}

func stored(t testing.TB, chunks ...sheet.Chunk) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, c := range chunks {
		if err := sheet.WriteChunk(&out, c); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestStoredChunksComeBack(t *testing.T) {
	want := []sheet.Chunk{sampleChunk(), {First: 2, Data: []byte{}}, {First: 5_000_000_000, Rows: 7, Data: []byte("a\r\n")}, sampleChunk()}
	r := iotest.OneByteReader(bytes.NewReader(stored(t, want...)))
	for i := range want {
		got, err := sheet.ReadChunk(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("chunk %d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := sheet.ReadChunk(r); err != io.EOF { //nolint:errorlint // the end is not to be wrapped
		t.Errorf("at the end: %v", err)
	}
}

func TestADamagedChunkIsRefused(t *testing.T) {
	whole := stored(t, sampleChunk())
	for n := 1; n < len(whole); n++ {
		if _, err := sheet.ReadChunk(bytes.NewReader(whole[:n])); !errors.Is(err, sheet.ErrChunkDamaged) {
			t.Errorf("cut to %d bytes: error %v", n, err)
		}
	}
	for i := range whole {
		for bit := range 8 {
			altered := bytes.Clone(whole)
			altered[i] ^= 1 << bit
			_, err := sheet.ReadChunk(bytes.NewReader(altered))
			if !errors.Is(err, sheet.ErrChunkDamaged) && !errors.Is(err, sheet.ErrChunkVersion) {
				t.Errorf("byte %d, bit %d: error %v", i, bit, err)
			}
		}
	}
}

func TestANewerChunkIsRefusedWithItsVersion(t *testing.T) {
	newer := stored(t, sampleChunk())
	newer[4] = 2
	_, err := sheet.ReadChunk(bytes.NewReader(newer))
	if !errors.Is(err, sheet.ErrChunkVersion) || !strings.HasSuffix(err.Error(), "version: 2; this program reads version 1") {
		t.Errorf("error %v", err)
	}
}

// A store that fails is not taken for a bad chunk.
func TestAFailingReaderIsNoDamage(t *testing.T) {
	failure := errors.New("the store is away")
	whole := stored(t, sampleChunk())
	for n := range whole {
		_, err := sheet.ReadChunk(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(failure)))
		if !errors.Is(err, failure) || errors.Is(err, sheet.ErrChunkDamaged) {
			t.Errorf("after %d bytes: error %v", n, err)
		}
	}
}

// sealed puts a head and a right sum around a body.
func sealed(body []byte, length uint64) []byte {
	b := binary.LittleEndian.AppendUint64([]byte("RMCK\x01"), length)
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// Not even a right sum makes nonsense a chunk, or has memory taken for it.
func TestNonsenseIsRefusedInLittleMemory(t *testing.T) {
	numbers := func(ns ...uint64) (b []byte) {
		for _, n := range ns {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"a long body that is not there": sealed([]byte("x"), sheet.MaxStoredChunk),
		"too long a body":               sealed([]byte("x"), sheet.MaxStoredChunk+1),
		"no fields":                     sealed(nil, 0),
		"another magic":                 []byte("RMCX\x01 and what follows"),
		"no number":                     sealed(bytes.Repeat([]byte{0xff}, 99), 99),
		"a negative number":             sealed(numbers(1<<63, 2, 0, 0, 0, 0, 0, 0), 17),
		"a first row above the data":    sealed(numbers(0, 1, 0, 0, 0, 0, 0, 0), 8),
		"a CRC of 33 bits":              sealed(numbers(0, 2, 0, 0, 1<<32, 0, 0, 0), 12),
		"bounds that are not there":     sealed(numbers(0, 2, 1<<40, 0, 0, 1<<40), 16),
		"bounds of other rows":          sealed(numbers(0, 2, 2, 0, 0, 1, 5, 0, 0), 9),
		"kinds that are not there":      sealed(numbers(0, 2, 0, 0, 0, 0, 1<<40, 0), 13),
		"a text that is not there":      sealed(numbers(0, 2, 0, 0, 0, 0, 1, 1<<40, 0), 14),
		"one kind twice":                sealed(numbers(0, 2, 0, 0, 0, 0, 2, 0, 1, 0, 1, 0), 12),
		"too many places":               sealed(append(numbers(0, 2, 0, 0, 0, 0, 0, 1001), make([]byte, 6000)...), 6009),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := sheet.ReadChunk(bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, sheet.ErrChunkDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

func TestAChunkThatCannotBeStored(t *testing.T) {
	for name, alter := range map[string]func(*sheet.Chunk){
		"sheet":  func(c *sheet.Chunk) { c.Sheet = -1 },
		"first":  func(c *sheet.Chunk) { c.First = 1 },
		"rows":   func(c *sheet.Chunk) { c.Rows, c.Bounds = -1, nil },
		"raw":    func(c *sheet.Chunk) { c.Raw = -1 },
		"bounds": func(c *sheet.Chunk) { c.Bounds = c.Bounds[1:] },
		"bound":  func(c *sheet.Chunk) { c.Bounds[0] = -1 },
		"count":  func(c *sheet.Chunk) { c.Losses.Counts[sheet.Cut] = -1 },
		"place":  func(c *sheet.Chunk) { c.Losses.Places[0].Row = -1 },
		"places": func(c *sheet.Chunk) { c.Losses.Places = make([]sheet.Loss, sheet.MaxLossPlaces+1) },
	} {
		c := sampleChunk()
		alter(&c)
		var out bytes.Buffer
		if err := sheet.WriteChunk(&out, c); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes", name, err, out.Len())
		}
	}
	full := errors.New("no room")
	if err := sheet.WriteChunk(failingWriter{full}, sampleChunk()); !errors.Is(err, full) {
		t.Errorf("on a full store: error %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// Chunks that an earlier release stored stay readable, and join. A new version of
// the form gets fixtures of its own: these are written by `go test -update` where
// they are missing, and never over.
func TestChunksOfVersion1StayReadable(t *testing.T) {
	for format, path := range map[sheet.Format]string{sheet.XLSX: "testdata/xlsx.v1.chunk", sheet.CSV: "testdata/csv.v1.chunk"} {
		spec := sheet.Spec{Format: format, Name: "Reservations", Columns: reservationColumns, Location: seoul(t), MaxRows: 100}
		rows := reservations(6)
		rows[1].Values[8], rows[2].Values[3] = table.ZeroDate(), table.TextOf("\x16 <c r=\"A1\">")
		job := segment{after: 103, pages: [][]table.Row{rows}}
		if *update {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			switch {
			case err == nil:
				_, err = f.Write(draft(t, spec, job))
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			case !errors.Is(err, os.ErrExist):
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, got := readChunks(t, draft(t, spec, job)), readChunks(t, old)
		if diff := cmp.Diff(plainly(t, format, want), plainly(t, format, got)); diff != "" {
			t.Errorf("%s (-today's +stored):\n%s", path, diff)
		}
		if rows := verify(t, format, joined(t, spec, got).file).Rows(); rows != 6 {
			t.Errorf("%s joins as %d rows", path, rows)
		}
	}
}

// plainly gives chunks with their data inflated: it may be deflated otherwise one day.
func plainly(t *testing.T, format sheet.Format, chunks []sheet.Chunk) []sheet.Chunk {
	t.Helper()
	chunks = slices.Clone(chunks)
	for i := range chunks {
		if format == sheet.XLSX {
			chunks[i].Data = inflate(t, chunks[i].Data)
		}
	}
	return chunks
}
