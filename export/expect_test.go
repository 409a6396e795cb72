package export_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/export/sheet"
)

// measured is what exports have cost, or why that is not known.
type measured struct {
	past []export.Measured
	err  error
}

func (m measured) Measured(context.Context, string, sheet.Format) ([]export.Measured, error) {
	return m.past, m.err
}

func TestTheStoreIsToldHowBigTheFileWillBe(t *testing.T) {
	past := []export.Measured{{Rows: 1000, Columns: 10, Bytes: 1_000_000, Took: time.Second}} // 100 bytes a cell
	for _, c := range []struct {
		name     string
		measures export.Measures
		format   sheet.Format
		want     int64
	}{
		{"nobody measures", nil, sheet.CSV, 250 * 2 * 9 * 5 / 4},
		{"nothing was measured", measured{}, sheet.XLSX, (250*2*4 + 8<<10) * 5 / 4},
		{"measured", measured{past: past}, sheet.CSV, 250 * 2 * 100 * 5 / 4},
		{"the measures fail", measured{err: errors.New("broken")}, sheet.CSV, 250 * 2 * 9 * 5 / 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := &memory{files: map[string][]byte{}}
			b := newBenchOn(t, &source{total: 250, page: 100}, files, c.measures)
			job := csvJob()
			job.Request.Format = c.format
			if err := b.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if files.meta.Expected != c.want || files.meta.ContentType != c.format.ContentType() {
				t.Errorf("it is told %+v, want %d bytes", files.meta, c.want)
			}
		})
	}
}
