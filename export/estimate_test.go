package export

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
)

func TestRatesAreTheMediansOfWhatWasMeasured(t *testing.T) {
	took := func(rows int64, columns int, bytes int64, d time.Duration) Measured {
		return Measured{Rows: rows, Columns: columns, Bytes: bytes, Took: d}
	}
	for _, c := range []struct {
		name string
		past []Measured
		want Rates
	}{
		{"nothing yet", nil, DefaultRates(sheet.XLSX)},
		{"one", []Measured{took(1000, 10, 50_000, 2*time.Second)}, Rates{5, 500}},
		{"an odd one out in an odd number", []Measured{
			took(1000, 10, 50_000, 2*time.Second), took(1000, 10, 9_000_000, time.Hour), took(1000, 10, 60_000, time.Second),
		}, Rates{6, 500}},
		{"an even number", []Measured{took(1000, 10, 40_000, time.Second), took(1000, 10, 60_000, 2*time.Second)}, Rates{5, 750}},
		{"too small to tell", []Measured{took(99, 10, 990_000, time.Second)}, DefaultRates(sheet.XLSX)},
		{"no columns, no bytes, no time", []Measured{took(1000, 0, 9, time.Second), took(1000, 1, 0, time.Second), took(1000, 1, 9, 0)}, DefaultRates(sheet.XLSX)},
	} {
		if diff := cmp.Diff(c.want, RatesOf(sheet.XLSX, c.past)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if DefaultRates(sheet.CSV) == DefaultRates(sheet.XLSX) {
		t.Error("both formats have the same defaults")
	}
}

func TestEstimate(t *testing.T) {
	r := Rates{BytesPerCell: 2, RowsPerSecond: 1000}
	for _, c := range []struct {
		format sheet.Format
		rows   int64
		want   Estimate
	}{
		{sheet.XLSX, 0, Estimate{1, baseBytes, baseSeconds}},
		{sheet.XLSX, 10_000, Estimate{1, baseBytes + 60_000, baseSeconds + 10}},
		{sheet.XLSX, sheet.MaxDataRows, Estimate{1, baseBytes + 6*sheet.MaxDataRows, baseSeconds + 1048.575}},
		{sheet.XLSX, sheet.MaxDataRows + 1, Estimate{2, baseBytes + 6*(sheet.MaxDataRows+1), baseSeconds + 1048.576}},
		{sheet.CSV, sheet.MaxDataRows + 1, Estimate{1, 6 * (sheet.MaxDataRows + 1), baseSeconds + 1048.576}},
	} {
		if diff := cmp.Diff(c.want, r.Estimate(c.format, c.rows, 3)); diff != "" {
			t.Errorf("%s of %d rows (-want +got):\n%s", c.format, c.rows, diff)
		}
	}
}

func TestRemaining(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	half := Job{Status: Running, StartedAt: now.Add(-20 * time.Second), RowsExpected: 2000, RowsWritten: 1000}
	half.Request.Format = sheet.XLSX
	waiting := Job{Status: Queued, RowsExpected: 1_000_000}
	waiting.Request.Format = sheet.XLSX
	endless := Job{Status: Queued, RowsExpected: 1 << 60}
	done := half
	done.RowsWritten = 2000
	for _, c := range []struct {
		name string
		live []Job
		want time.Duration
	}{
		{"none", nil, mostRemaining},
		{"half done in 20 s", []Job{half}, 20*time.Second + 300*time.Millisecond},
		{"waits at the default rate", []Job{waiting}, 50*time.Second + 300*time.Millisecond},
		{"the first counts", []Job{endless, waiting, half}, 20*time.Second + 300*time.Millisecond},
		{"no guess past the bound", []Job{endless}, mostRemaining},
		{"at least a second", []Job{done}, time.Second},
	} {
		if got := Remaining(c.live, now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
