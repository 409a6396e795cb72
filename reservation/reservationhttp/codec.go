package reservationhttp

import (
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"rowmill/internal/table"
	"rowmill/reservation"
)

// zeroDate is how MySQL's 0000-00-00 travels, in dates and in times.
const zeroDate = `"0000-00-00"`

// appendRow appends a row as [key, value, ...]. It fails if the row is not what
// the fields say: a page that the client could not read must not be sent.
func appendRow(w *jx.Writer, fields []reservation.Field, row table.Row) error {
	if err := checkRow(fields, row); err != nil {
		return err
	}
	w.ArrStart()
	w.Int64(row.Key)
	for i, v := range row.Values {
		w.Comma()
		if !appendValue(w, v) {
			return fmt.Errorf("row %d: field %s is of a year past 9999 or before 0", row.Key, fields[i].Key)
		}
	}
	w.ArrEnd()
	return nil
}

// checkRow holds a row against the fields that it has values of.
func checkRow(fields []reservation.Field, row table.Row) error {
	if len(row.Values) != len(fields) {
		return fmt.Errorf("row %d has %d values for %d fields", row.Key, len(row.Values), len(fields))
	}
	for i, v := range row.Values {
		if !fits(fields[i].Type, v.Kind()) {
			return fmt.Errorf("row %d: field %s is %s, which no value of kind %d can be", row.Key, fields[i].Key, fields[i].Type, v.Kind())
		}
	}
	return nil
}

// fits reports whether a column of type t can hold a value of the kind.
func fits(t table.Type, k table.Kind) bool {
	switch k {
	case table.KindNull:
		return true
	case table.KindText:
		return t == table.Text || t == table.Code
	case table.KindInteger:
		return t == table.Integer
	case table.KindDecimal:
		return t == table.Decimal
	case table.KindDate:
		return t == table.Date
	case table.KindTime:
		return t == table.Time
	case table.KindBool:
		return t == table.Bool
	case table.KindZeroDate:
		return t == table.Date || t == table.Time
	}
	return false
}

// appendValue appends v; false if it is a day or a time that JSON has no form for.
func appendValue(w *jx.Writer, v table.Value) bool {
	switch v.Kind() {
	case table.KindText:
		appendText(w, v.Text())
	case table.KindInteger:
		w.Int64(v.Integer())
	case table.KindDecimal:
		w.Buf = append(w.Buf, '"')
		w.Buf = v.AppendDecimal(w.Buf)
		w.Buf = append(w.Buf, '"')
	case table.KindDate:
		return appendDay(w, v.AsTime())
	case table.KindTime:
		return appendTime(w, v.AsTime())
	case table.KindBool:
		w.Bool(v.Bool())
	case table.KindZeroDate:
		w.RawStr(zeroDate)
	default:
		w.Null()
	}
	return true
}

// appendText appends s so that it arrives byte for byte: as a string, or, as
// JSON is UTF-8 (RFC 8259, 8.1), in base64 if it is none.
func appendText(w *jx.Writer, s string) {
	if utf8.ValidString(s) {
		w.Str(s)
		return
	}
	w.RawStr(`{"base64":"`)
	w.Buf = base64.StdEncoding.AppendEncode(w.Buf, []byte(s))
	w.RawStr(`"}`)
}

func appendDay(w *jx.Writer, t time.Time) bool {
	y, m, d := t.Date()
	if y < 0 || y > 9999 {
		return false
	}
	w.Buf = append(w.Buf, '"',
		byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10), '-',
		byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10), '"')
	return true
}

func appendTime(w *jx.Writer, t time.Time) bool {
	if y := t.Year(); y < 0 || y > 9999 {
		return false
	}
	w.Buf = append(w.Buf, '"')
	w.Buf = t.AppendFormat(w.Buf, time.RFC3339Nano) // a Value has no more than microseconds
	w.Buf = append(w.Buf, '"')
	return true
}

// parseDay reads "2006-01-02" as days since 1970-01-01, without allocating.
func parseDay(b []byte) (days int64, ok bool) {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	for i, c := range b {
		if i != 4 && i != 7 && (c < '0' || c > '9') {
			return 0, false
		}
	}
	two := func(i int) int { return int(b[i]-'0')*10 + int(b[i+1]-'0') }
	y, m, d := two(0)*100+two(2), two(5), two(8)
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if gotY, gotM, gotD := t.Date(); gotY != y || int(gotM) != m || gotD != d {
		return 0, false
	}
	return t.Unix() / (24 * 60 * 60), true
}
