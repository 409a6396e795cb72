package table_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"rowmill/internal/table"
)

func TestParseDecimalKeepsEveryDigit(t *testing.T) {
	for _, x := range []struct {
		in       string
		unscaled int64
		scale    uint8
		small    bool
	}{
		{"0", 0, 0, true},
		{"-12", -12, 0, true},
		{"0.10", 10, 2, true},
		{"-0.01", -1, 2, true},
		{"007.50", 750, 2, true},
		{"1234567890.12345678", 123456789012345678, 8, true}, // case 10
		{"999999999999999999", 999999999999999999, 0, true},
		{"0.00000000000000001", 1, 17, true},
		{"9223372036854775807", 0, 0, false},
		{"-12345678901234567890.123", 0, 0, false},
	} {
		v, ok := table.ParseDecimal(x.in)
		if !ok || v.Kind() != table.KindDecimal {
			t.Errorf("%q was not read", x.in)
			continue
		}
		unscaled, scale, small := v.Decimal()
		if small != x.small || small && (unscaled != x.unscaled || scale != x.scale) {
			t.Errorf("%q: %d, scale %d, %v", x.in, unscaled, scale, small)
		}
		want := x.in
		if want == "007.50" {
			want = "7.50"
		}
		if got := string(v.AppendDecimal([]byte("x"))); got != "x"+want {
			t.Errorf("%q came back as %q", x.in, got)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	for _, in := range []string{"", "-", ".", ".5", "-.5", "5.", "1.2.3", "+1", "1-2", "--1", "1e5", "1,5", " 1", "1 ", "NaN", "Inf", "0x10", "١"} {
		if v, ok := table.ParseDecimal(in); ok {
			t.Errorf("%q was read as %v", in, v)
		}
	}
}

func TestDecimalNotationIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n, scale := int64(r.Uint64())>>r.IntN(64), uint8(r.IntN(19))
		if r.IntN(20) == 0 {
			n = []int64{math.MinInt64, math.MaxInt64, 0}[r.IntN(3)]
		}
		got, ok := new(big.Rat).SetString(string(table.DecimalOf(n, scale).AppendDecimal(nil)))
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		if want := new(big.Rat).SetFrac(big.NewInt(n), ten); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%d at scale %d became %v", n, scale, got)
		}
		v, ok := table.ParseDecimal(table.DecimalOf(n, scale).String())
		if !ok || v.String() != table.DecimalOf(n, scale).String() {
			t.Fatalf("%d at scale %d was read back as %v", n, scale, v)
		}
	}
	if _, scale, _ := table.DecimalOf(1, 200).Decimal(); scale != 18 {
		t.Errorf("scale %d", scale)
	}
}

func TestDates(t *testing.T) {
	for in, days := range map[string]int64{
		"1970-01-01": 0, "1969-12-31": -1, "1900-02-28": -25509, "1900-03-01": -25508, "2000-02-29": 11016, "0001-01-01": -719162, "9999-12-31": 2932896,
	} {
		v, ok := table.ParseDate(in)
		if !ok || v.Kind() != table.KindDate || v.Days() != days || string(v.AppendDate(nil)) != in || v.AsTime().Format(time.RFC3339) != in+"T00:00:00Z" {
			t.Errorf("%s: %v, %d days, %v", in, v, v.Days(), ok)
		}
	}
	if v, ok := table.ParseDate("0000-00-00"); !ok || v != table.ZeroDate() {
		t.Errorf("the zero date: %v, %v", v, ok)
	}
	for _, in := range []string{"", "2023-02-29", "2023-13-01", "2023-00-01", "2023-01-00", "2023-1-1", "23-01-01", "2023/01/01", "2023-01-01T00:00:00Z", " 2023-01-01"} {
		if v, ok := table.ParseDate(in); ok {
			t.Errorf("%q was read as %v", in, v)
		}
	}
}

func TestTimesAreKeptToTheMicrosecondInUTC(t *testing.T) {
	at := time.Date(2023, 12, 31, 23, 59, 59, 123_456_789, time.FixedZone("KST", 9*60*60))
	v := table.TimeOf(at)
	if got, want := v.AsTime(), time.Date(2023, 12, 31, 14, 59, 59, 123_456_000, time.UTC); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if table.TimeOfMicro(v.UnixMicro()) != v {
		t.Error("microseconds do not come back")
	}
	if before := table.TimeOf(time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC)); before.AsTime().Year() != 1899 {
		t.Errorf("before 1970: %v", before)
	}
}

func TestValuesAreToldApart(t *testing.T) {
	values := []struct {
		v    table.Value
		kind table.Kind
		text string
	}{
		{table.Value{}, table.KindNull, "NULL"},
		{table.TextOf(""), table.KindText, ""},
		{table.TextOf("가\n"), table.KindText, "가\n"},
		{table.TextOf("a\xff"), table.KindText, `"a\xff"`},
		{table.IntegerOf(0), table.KindInteger, "0"},
		{table.IntegerOf(math.MinInt64), table.KindInteger, strconv.Itoa(math.MinInt64)},
		{table.DecimalOf(0, 2), table.KindDecimal, "0.00"},
		{table.DecimalOf(0, 0), table.KindDecimal, "0"},
		{table.DateOf(0), table.KindDate, "1970-01-01"},
		{table.TimeOfMicro(0), table.KindTime, "1970-01-01T00:00:00Z"},
		{table.TimeOfMicro(1), table.KindTime, "1970-01-01T00:00:00.000001Z"},
		{table.BoolOf(false), table.KindBool, "false"},
		{table.BoolOf(true), table.KindBool, "true"},
		{table.ZeroDate(), table.KindZeroDate, "0000-00-00"},
	}
	for i, x := range values {
		if x.v.Kind() != x.kind || x.v.String() != x.text || x.v.IsNull() != (x.kind == table.KindNull) {
			t.Errorf("%d: kind %d, %q", i, x.v.Kind(), x.v)
		}
		for j, y := range values {
			if (i == j) != (x.v == y.v) {
				t.Errorf("%v and %v: equal is %v", x.v, y.v, x.v == y.v)
			}
		}
	}
	if table.Null() != (table.Value{}) {
		t.Error("the zero value is not NULL")
	}
	if table.TextOf("a\xff").Text() != "a\xff" || table.IntegerOf(-7).Integer() != -7 || !table.BoolOf(true).Bool() || table.BoolOf(false).Bool() {
		t.Error("what was put in does not come out")
	}
}

// The names are in the field catalog, which callers rely on.
func TestTypeNamesAreStable(t *testing.T) {
	for typ, want := range map[table.Type]string{
		table.Text: "text", table.Code: "code", table.Integer: "integer", table.Decimal: "decimal", table.Date: "date", table.Time: "time", table.Bool: "bool",
	} {
		if got := typ.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
