package export

import (
	"slices"
	"time"

	"rowmill/export/sheet"
)

// Measured is what a finished export of some rows and columns has cost.
type Measured struct {
	Rows    int64
	Columns int
	Bytes   int64
	Took    time.Duration // of the attempt, from its claim to its publishing
}

// MeasuredRows is how many finished exports an estimate is made from.
const MeasuredRows = 20

// Rates are how big files get and how fast they are made.
type Rates struct {
	BytesPerCell  float64 // a cell being a row of one column
	RowsPerSecond float64
}

// DefaultRates are those of a format of which nothing has been measured. They are
// of the sample's default columns on two cores, with some air.
func DefaultRates(f sheet.Format) Rates {
	if f == sheet.CSV {
		return Rates{BytesPerCell: 9, RowsPerSecond: 25_000}
	}
	return Rates{BytesPerCell: 4, RowsPerSecond: 20_000}
}

// measurable is from how many rows on an export tells a rate: below, what every
// export costs hides it.
const measurable = 100

// RatesOf gives the medians of what was measured, or the defaults of the format.
func RatesOf(f sheet.Format, past []Measured) Rates {
	var perCell, perSecond []float64
	for _, m := range past {
		if m.Rows < measurable || m.Columns < 1 || m.Bytes <= 0 || m.Took <= 0 {
			continue
		}
		perCell = append(perCell, float64(m.Bytes)/float64(m.Rows)/float64(m.Columns))
		perSecond = append(perSecond, float64(m.Rows)/m.Took.Seconds())
	}
	if len(perCell) == 0 {
		return DefaultRates(f)
	}
	return Rates{BytesPerCell: median(perCell), RowsPerSecond: median(perSecond)}
}

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// Estimate is what an export is expected to come to.
type Estimate struct {
	Sheets  int // of data; a CSV file counts as one
	Bytes   int64
	Seconds float64 // once a worker has it
}

// What every export costs, however few its rows: the parts of a workbook that hold
// none, and the steps of a job.
const (
	baseBytes   = 8 << 10
	baseSeconds = 0.3
)

// Estimate gives what rows of so many columns come to in the format.
func (r Rates) Estimate(f sheet.Format, rows int64, columns int) Estimate {
	e := Estimate{
		Sheets:  1,
		Bytes:   int64(float64(rows) * float64(columns) * r.BytesPerCell),
		Seconds: baseSeconds + float64(rows)/r.RowsPerSecond,
	}
	if f == sheet.XLSX {
		e.Sheets = int(max(1, (rows+sheet.MaxDataRows-1)/sheet.MaxDataRows))
		e.Bytes += baseBytes
	}
	return e
}

// Bounds of what is said to be left: nobody comes back more often than each
// second, and a guess past some minutes is none.
const (
	leastRemaining = time.Second
	mostRemaining  = 5 * time.Minute
)

// Remaining gives when the first of the live jobs may end, from 1 s to 5 min.
func Remaining(live []Job, now time.Time) time.Duration {
	left := mostRemaining
	for _, j := range live {
		left = min(left, j.remaining(now))
	}
	return max(leastRemaining, left)
}

func (j Job) remaining(now time.Time) time.Duration {
	rate := DefaultRates(j.Request.Format).RowsPerSecond
	rows := float64(max(0, j.RowsExpected-j.RowsWritten))
	if ran := now.Sub(j.StartedAt).Seconds(); j.Status == Running && j.RowsWritten > 0 && ran > 0 {
		rate = float64(j.RowsWritten) / ran
	}
	return time.Duration(min(mostRemaining.Seconds(), baseSeconds+rows/rate) * float64(time.Second))
}
