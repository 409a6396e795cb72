// Package table is the currency of Rowmill's data path: typed values and rows,
// from the SQL scan over the wire to the cell, without a conversion in between. It
// knows no domain and no format.
package table

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Type is what a column holds.
type Type uint8

const (
	Text    Type = iota // any text; never a number, a formula or a date
	Code                // text made of digits or letters that must not be read as a number
	Integer             // 64-bit whole number
	Decimal             // exact decimal number
	Date                // calendar day
	Time                // instant, kept in UTC
	Bool
)

var typeNames = [...]string{"text", "code", "integer", "decimal", "date", "time", "bool"}

// String gives the type's stable name, as used in the field catalog.
func (t Type) String() string { return typeNames[t] }

// Kind is what a value is. A value of any column may be Null.
type Kind uint8

const (
	KindNull Kind = iota
	KindText
	KindInteger
	KindDecimal
	KindDate
	KindTime
	KindBool
	// KindZeroDate is MySQL's 0000-00-00: a date or time that is no day.
	KindZeroDate
)

// Value is one cell. The zero Value is NULL.
type Value struct {
	kind  Kind
	scale uint8
	n     int64
	s     string
}

// Row is a record: its key and its values in the order of the asked columns.
type Row struct {
	Key    int64 // unique in the data set
	Values []Value
}

// Null is SQL's NULL.
func Null() Value { return Value{} }

// TextOf holds s as it is, bytes that are not UTF-8 included.
func TextOf(s string) Value { return Value{kind: KindText, s: s} }

// IntegerOf holds n.
func IntegerOf(n int64) Value { return Value{kind: KindInteger, n: n} }

// DecimalOf holds unscaled × 10^-scale; a scale past 18 is held as 18.
func DecimalOf(unscaled int64, scale uint8) Value {
	return Value{kind: KindDecimal, n: unscaled, scale: min(scale, 18)}
}

// DateOf holds the day that lies days after 1970-01-01.
func DateOf(days int64) Value { return Value{kind: KindDate, n: days} }

// TimeOf holds t to the microsecond.
func TimeOf(t time.Time) Value { return Value{kind: KindTime, n: t.UnixMicro()} }

// TimeOfMicro holds the instant us microseconds after 1970-01-01T00:00:00Z.
func TimeOfMicro(us int64) Value { return Value{kind: KindTime, n: us} }

// BoolOf holds b.
func BoolOf(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.n = 1
	}
	return v
}

// ZeroDate is MySQL's 0000-00-00.
func ZeroDate() Value { return Value{kind: KindZeroDate} }

// Kind says what v is.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Text gives the text of a text value, and of a wide decimal its digits.
func (v Value) Text() string { return v.s }

// Integer gives the number of an integer value.
func (v Value) Integer() int64 { return v.n }

// Bool gives the truth of a bool value.
func (v Value) Bool() bool { return v.n != 0 }

// Days gives a date value's days since 1970-01-01.
func (v Value) Days() int64 { return v.n }

// UnixMicro gives a time value's microseconds since 1970-01-01T00:00:00Z.
func (v Value) UnixMicro() int64 { return v.n }

// Decimal gives a decimal value's unscaled number and scale; ok is false if it
// does not fit 64 bits, and Text then has its digits.
func (v Value) Decimal() (unscaled int64, scale uint8, ok bool) { return v.n, v.scale, v.s == "" }

// AppendDecimal appends a decimal value's plain notation, scale kept ("0.10").
func (v Value) AppendDecimal(b []byte) []byte {
	if v.s != "" {
		return append(b, v.s...)
	}
	n := uint64(v.n)
	if v.n < 0 {
		b = append(b, '-')
		n = -n
	}
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], n, 10)
	scale := int(v.scale)
	if scale == 0 {
		return append(b, d...)
	}
	if len(d) <= scale {
		b = append(b, '0', '.')
		for range scale - len(d) {
			b = append(b, '0')
		}
		return append(b, d...)
	}
	b = append(b, d[:len(d)-scale]...)
	b = append(b, '.')
	return append(b, d[len(d)-scale:]...)
}

// ParseDecimal reads plain notation ("-12", "0.10", "1234567890.12345678"),
// keeping its scale. ok is false for anything else.
func ParseDecimal(s string) (v Value, ok bool) {
	digits, scale, point := 0, 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
			if point {
				scale++
			}
		case c == '.' && !point && digits > 0:
			point = true
		case c == '-' && i == 0:
		default:
			return Value{}, false
		}
	}
	if digits == 0 || point && scale == 0 {
		return Value{}, false
	}
	if digits > 18 {
		return Value{kind: KindDecimal, s: s}, true
	}
	var n int64
	for i := range len(s) {
		if c := s[i]; c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
		}
	}
	if s[0] == '-' {
		n = -n
	}
	return DecimalOf(n, uint8(scale)), true
}

const secondsPerDay = 24 * 60 * 60

// ParseDate reads "2006-01-02". "0000-00-00" is the zero date.
func ParseDate(s string) (v Value, ok bool) {
	if s == "0000-00-00" {
		return ZeroDate(), true
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Value{}, false
	}
	return DateOf(t.Unix() / secondsPerDay), true // midnights divide evenly, also before 1970
}

// AppendDate appends a date value as "2006-01-02".
func (v Value) AppendDate(b []byte) []byte {
	return time.Unix(v.n*secondsPerDay, 0).UTC().AppendFormat(b, time.DateOnly)
}

// AsTime gives a date's midnight or a time's instant, in UTC.
func (v Value) AsTime() time.Time {
	if v.kind == KindDate {
		return time.Unix(v.n*secondsPerDay, 0).UTC()
	}
	return time.UnixMicro(v.n).UTC()
}

// String gives v for logs and test failures, not for files.
func (v Value) String() string {
	switch v.kind {
	case KindNull:
		return "NULL"
	case KindText:
		if !utf8.ValidString(v.s) {
			return strconv.QuoteToASCII(v.s)
		}
		return v.s
	case KindInteger:
		return strconv.FormatInt(v.n, 10)
	case KindDecimal:
		return string(v.AppendDecimal(nil))
	case KindDate:
		return string(v.AppendDate(nil))
	case KindTime:
		return v.AsTime().Format(time.RFC3339Nano)
	case KindBool:
		return strconv.FormatBool(v.Bool())
	default:
		return "0000-00-00"
	}
}
