package sheet_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"rowmill/export/sheet"
)

// BenchmarkEncode encodes pages of 1,000 rows of 20 columns on one goroutine.
func BenchmarkEncode(b *testing.B) {
	rows := reservations(1000)
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		b.Run(string(format), func(b *testing.B) {
			e, err := sheet.New(io.Discard, sheet.Spec{Format: format, Columns: reservationColumns})
			if err != nil {
				b.Fatal(err)
			}
			spans := e.Place(rows)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Encode(spans[0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkFile writes 100,000 rows of 20 columns, in pages, on some goroutines.
func BenchmarkFile(b *testing.B) {
	rows := reservations(100_000)
	for _, workers := range []int{1, 2} {
		for _, page := range []int{500, 2000} {
			b.Run(fmt.Sprintf("workers=%d/page=%d", workers, page), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e, err := sheet.New(io.Discard, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns})
					if err != nil {
						b.Fatal(err)
					}
					if err := writeParallel(e, rows, page, workers); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	rows := reservations(1000)
	e, err := sheet.New(io.Discard, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Place(rows)
	}
}

// BenchmarkVerify reads a file of 100,000 rows of 20 columns back.
func BenchmarkVerify(b *testing.B) {
	rows := reservations(100_000)
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		b.Run(string(format), func(b *testing.B) {
			var out bytes.Buffer
			e, err := sheet.New(&out, sheet.Spec{Format: format, Columns: reservationColumns})
			if err != nil {
				b.Fatal(err)
			}
			if err := writeParallel(e, rows, 2000, 2); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := sheet.Verify(b.Context(), format, bytes.NewReader(out.Bytes()), int64(out.Len()))
				if err != nil || c.Rows() != int64(len(rows)) {
					b.Fatal(c, err)
				}
			}
			b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkMove gives 1,000 drafted rows of 20 columns other numbers.
func BenchmarkMove(b *testing.B) {
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}
	rows := reservations(1000)
	d, err := sheet.NewDraft(spec, 5)
	if err != nil {
		b.Fatal(err)
	}
	chunk, err := d.Encode(d.Place(rows)[0])
	if err != nil {
		b.Fatal(err)
	}
	e, err := sheet.New(io.Discard, spec)
	if err != nil {
		b.Fatal(err)
	}
	j := e.(sheet.Joiner)
	moves := j.PlaceChunk(chunk)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Move(moves[0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkJoin appends 100 chunks of 1,000 rows to a file and ends it.
func BenchmarkJoin(b *testing.B) {
	rows := reservations(100_000)
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}
	e, err := sheet.New(io.Discard, spec)
	if err != nil {
		b.Fatal(err)
	}
	var chunks []sheet.Chunk
	for from := 0; from < len(rows); from += 1000 {
		for _, span := range e.Place(rows[from : from+1000]) {
			c, err := e.Encode(span)
			if err != nil {
				b.Fatal(err)
			}
			chunks = append(chunks, c)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := sheet.New(io.Discard, spec)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range chunks {
			if err := e.Append(c); err != nil {
				b.Fatal(err)
			}
		}
		if err := e.Close(sheet.Info{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Few allocations are what keeps a worker's collector idle: only the cells that
// excelize writes, some one in a row here, have any. 20 columns. It is 8 a row, and
// more where the race detector throws pooled workbooks away at random.
func TestAnEncodedRowAllocatesLittle(t *testing.T) {
	const rows, bound = 1000, 20
	e, err := sheet.New(io.Discard, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns})
	if err != nil {
		t.Fatal(err)
	}
	span := e.Place(reservations(rows))[0]
	if n := testing.AllocsPerRun(5, func() {
		if _, err := e.Encode(span); err != nil {
			t.Fatal(err)
		}
	}) / rows; n > bound {
		t.Errorf("%.1f allocations a row, at most %d are allowed", n, bound)
	}
}
