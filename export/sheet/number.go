package sheet

import (
	"math"
	"strconv"
	"strings"
	"time"

	"rowmill/internal/table"
)

// maxDigits is how many significant digits a cell's number keeps (Excel
// specifications and limits: number precision).
const maxDigits = 15

const maxInteger = 999_999_999_999_999 // the largest of maxDigits digits

// integer gives n as a cell's number; ok is false if the cell would lose digits.
func integer(n int64) (x int64, ok bool) { return n, n >= -maxInteger && n <= maxInteger }

// decimal gives a decimal value as a cell's number, exact to the last digit; ok
// is false if it has more significant digits than a cell keeps. Zeros that end
// the fraction do not count.
func decimal(v table.Value) (x float64, ok bool) {
	n, scale, fits := v.Decimal()
	if !fits {
		return wideDecimal(v.Text())
	}
	for scale > 0 && n%10 == 0 {
		n /= 10
		scale--
	}
	if _, ok := integer(n); !ok {
		return 0, false
	}
	return float64(n) / powers[scale], true // both exact, so the quotient is the nearest float
}

// wideDecimal is decimal for the digits of a value past 64 bits.
func wideDecimal(s string) (x float64, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(digits, "0")
	}
	digits = strings.TrimLeft(strings.Replace(digits, ".", "", 1), "0")
	if len(digits) > maxDigits {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

var powers = func() (p [19]float64) {
	p[0] = 1
	for i := range len(p) - 1 {
		p[i+1] = p[i] * 10
	}
	return p
}()

// Serial numbers count days from 1900-01-01 = 1. Excel's calendar has a 29
// February 1900 (serial 60) that never was, so real days from 1900-03-01 = 61 on
// are one further on than their count. Days before 1900-01-01 are text. (Programs
// without that leap day show January and February 1900 a day early.)
const (
	epoch      = 25569                // serial of 1970-01-01
	march1900  = 61                   // serial of 1900-03-01
	lastSerial = 2958465              // of 9999-12-31
	microsDay  = int64(24 * 3600e6)   // microseconds of a day
	lastMilli  = microsDay - 1000     // of a day, in microseconds
	stepsDay   = float64(10000000000) // a serial is rounded to 1e-10 of a day
)

// dateSerial gives the serial number of the day that lies days after 1970-01-01;
// ok is false if it has none.
func dateSerial(days int64) (serial int64, ok bool) {
	if days < -epoch || days > lastSerial-epoch {
		return 0, false
	}
	serial = days + epoch
	if serial < march1900 {
		serial--
	}
	return serial, serial >= 1
}

// timeSerial gives the serial number of the wall clock in loc at the instant.
// Spreadsheets cut a number after 15 digits without rounding, which would show a
// second too few; hence the rounding to 1e-10 of a day. Readers round to the
// millisecond, so what follows a day's last one counts as that: a day's end must
// not become the next day, and after 9999-12-31 there is none.
func timeSerial(micro int64, loc *time.Location) (serial float64, ok bool) {
	_, offset := time.UnixMicro(micro).In(loc).Zone()
	wall := micro + int64(offset)*1e6
	days := wall / microsDay
	rest := wall % microsDay
	if rest < 0 {
		days--
		rest += microsDay
	}
	day, ok := dateSerial(days)
	steps := math.Round(float64(min(rest, lastMilli)) / float64(microsDay) * stepsDay)
	return math.Round((float64(day)+steps/stepsDay)*stepsDay) / stepsDay, ok
}

// appendTime appends the instant in loc as ISO 8601 with the zone's offset. An
// old offset that has seconds cannot be written so, and the time is given in UTC.
func appendTime(b []byte, micro int64, loc *time.Location) []byte {
	t := time.UnixMicro(micro).In(loc)
	if _, offset := t.Zone(); offset%60 != 0 {
		t = t.UTC()
	}
	return t.AppendFormat(b, "2006-01-02T15:04:05.999999-07:00")
}
