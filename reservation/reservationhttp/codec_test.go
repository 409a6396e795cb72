package reservationhttp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-faster/jx"
	"github.com/google/go-cmp/cmp"

	"rowmill/internal/table"
	"rowmill/reservation"
)

// sameValue compares what values are: a decimal that was held in 64 bits may
// come back as its digits.
var sameValue = cmp.Comparer(func(a, b table.Value) bool {
	return a.Kind() == b.Kind() && a.Text() == b.Text() && a.Integer() == b.Integer() ||
		a.Kind() == table.KindDecimal && b.Kind() == table.KindDecimal && a.String() == b.String()
})

// typed gives a field of each type, the catalog's types in a known order.
func typed() []reservation.Field {
	var fields []reservation.Field
	for t := table.Text; t <= table.Bool; t++ {
		fields = append(fields, reservation.Field{Key: t.String(), Type: t})
	}
	return fields
}

var hardTexts = []string{
	"", " ", "\x00", "a\x16b", "\"\\/\b\f\n\r\t", "가나다", "👩‍👩‍👧 😀", "\u2028\u2029\ufffe\ufffd", "\xed\xa0\x80", "\xff", "a\xc3", `{"base64":"AA=="}`, `\u0041`, "=1+1", "null", "0000-00-00",
}

func randomText(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return hardTexts[r.IntN(len(hardTexts))]
	case 1: // any bytes
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	case 2: // any runes, some texts past the arena's block
		var b strings.Builder
		for range r.IntN(30) * (1 + r.IntN(20)/19*400) {
			b.WriteRune(rune(r.IntN(0x11000)))
		}
		return b.String()
	}
	return "the same in many rows"
}

func randomInteger(r *rand.Rand) int64 {
	hard := []int64{0, -1, 1, math.MaxInt64, math.MinInt64, 1<<53 + 1, -(1<<53 + 1)}
	if r.IntN(2) == 0 {
		return hard[r.IntN(len(hard))]
	}
	return int64(r.Uint64()) >> r.IntN(64)
}

func randomValue(r *rand.Rand, t table.Type) table.Value {
	if r.IntN(8) == 0 {
		return table.Null()
	}
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	switch t {
	case table.Integer:
		return table.IntegerOf(randomInteger(r))
	case table.Decimal:
		if r.IntN(3) == 0 {
			v, ok := table.ParseDecimal("-1234567890123456789012345." + strings.Repeat("0", r.IntN(30)) + "5")
			if !ok {
				panic("a wide decimal was not read")
			}
			return v
		}
		return table.DecimalOf(randomInteger(r), uint8(r.IntN(19)))
	case table.Date, table.Time:
		micro := first.UnixMicro() + r.Int64N(last.UnixMicro()-first.UnixMicro()+1)
		switch {
		case r.IntN(8) == 0:
			return table.ZeroDate()
		case t == table.Time:
			return table.TimeOfMicro(micro)
		}
		return table.DateOf(time.UnixMicro(micro).UTC().Truncate(24*time.Hour).Unix() / 86400)
	case table.Bool:
		return table.BoolOf(r.IntN(2) == 0)
	}
	return table.TextOf(randomText(r))
}

func randomRows(r *rand.Rand, fields []reservation.Field, n int) []table.Row {
	rows := make([]table.Row, n)
	for i := range rows {
		rows[i] = table.Row{Key: randomInteger(r), Values: make([]table.Value, len(fields))}
		for j, f := range fields {
			rows[i].Values[j] = randomValue(r, f.Type)
		}
	}
	return rows
}

func encodeRows(t testing.TB, fields []reservation.Field, rows []table.Row) []byte {
	t.Helper()
	var w jx.Writer
	w.ArrStart()
	for i, row := range rows {
		if i > 0 {
			w.Comma()
		}
		if err := appendRow(&w, fields, row); err != nil {
			t.Fatal(err)
		}
	}
	w.ArrEnd()
	return w.Buf
}

func decodeRows(r io.Reader, fields []reservation.Field, limit int) ([]table.Row, error) {
	p := newPage(fields, limit)
	err := decode(r, p.readRows)
	return p.rows, err
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	fields := typed()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		rows := randomRows(r, fields, r.IntN(2)*valueBlock+r.IntN(60))
		encoded := encodeRows(t, fields, rows)
		if !jx.Valid(encoded) {
			t.Fatalf("seed %d: not JSON", seed)
		}
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
		} {
			got, err := decodeRows(wrap(bytes.NewReader(encoded)), fields, len(rows))
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if diff := cmp.Diff(rows, got, sameValue); diff != "" {
				t.Fatalf("seed %d, %s (-sent +got):\n%s", seed, name, diff)
			}
		}
	}
}

func TestRowsReadByteByByte(t *testing.T) {
	fields := typed()
	rows := randomRows(rand.New(rand.NewPCG(7, 7)), fields, 40)
	got, err := decodeRows(iotest.OneByteReader(bytes.NewReader(encodeRows(t, fields, rows))), fields, len(rows))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got, sameValue); diff != "" {
		t.Error(diff)
	}
}

// Every proper beginning of an answer is an error: nothing cut passes as whole.
func TestRowsCutAnywhereFail(t *testing.T) {
	fields := typed()
	encoded := encodeRows(t, fields, randomRows(rand.New(rand.NewPCG(3, 3)), fields, 4))
	for n := range encoded {
		if rows, err := decodeRows(bytes.NewReader(encoded[:n]), fields, 4); err == nil {
			t.Fatalf("%d of %d bytes were read as %d rows", n, len(encoded), len(rows))
		}
	}
}

func TestWireForm(t *testing.T) {
	fields := typed()
	row := table.Row{Key: 7, Values: []table.Value{
		table.TextOf("a\"\n\xff"), table.TextOf("007"), table.IntegerOf(-5), table.DecimalOf(12345, 2),
		table.DateOf(0), table.TimeOf(time.Date(2024, 2, 29, 1, 2, 3, 4_005_678, time.UTC)), table.BoolOf(true),
	}}
	want := `[[7,{"base64":"YSIK/w=="},"007",-5,"123.45","1970-01-01","2024-02-29T01:02:03.004005Z",true]]`
	if got := string(encodeRows(t, fields, []table.Row{row})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRowsThatAreNotWhatWasAsked(t *testing.T) {
	field := func(t table.Type) []reservation.Field { return []reservation.Field{{Key: "f", Type: t}} }
	for _, x := range []struct {
		name   string
		fields []reservation.Field
		json   string
	}{
		{"too narrow", field(table.Text), `[[1]]`},
		{"too wide", field(table.Text), `[[1,"a","b"]]`},
		{"no key", field(table.Text), `[[]]`},
		{"key is text", field(table.Text), `[["1","a"]]`},
		{"key past 64 bits", field(table.Text), `[[9223372036854775808,"a"]]`},
		{"more rows than asked", field(table.Text), `[[1,"a"],[2,"b"],[3,"c"]]`},
		{"not a list", field(table.Text), `{}`},
		{"row is no list", field(table.Text), `[1]`},
		{"text is a number", field(table.Text), `[[1,2]]`},
		{"base64 is not", field(table.Text), `[[1,{"base64":"*"}]]`},
		{"base64 is null", field(table.Text), `[[1,{"base64":null}]]`},
		{"base64 twice", field(table.Text), `[[1,{"base64":"","base64":""}]]`},
		{"object without base64", field(table.Text), `[[1,{}]]`},
		{"object with another member", field(table.Code), `[[1,{"hex":"00"}]]`},
		{"integer is text", field(table.Integer), `[[1,"2"]]`},
		{"integer with a fraction", field(table.Integer), `[[1,2.5]]`},
		{"integer past 64 bits", field(table.Integer), `[[1,99999999999999999999]]`},
		{"decimal is a number", field(table.Decimal), `[[1,2.5]]`},
		{"decimal with an exponent", field(table.Decimal), `[[1,"1e5"]]`},
		{"date that does not exist", field(table.Date), `[[1,"2023-02-29"]]`},
		{"date with a zero month", field(table.Date), `[[1,"2023-00-10"]]`},
		{"date with a letter", field(table.Date), `[[1,"2023-0a-10"]]`},
		{"date with a time", field(table.Date), `[[1,"2023-01-01T00:00:00Z"]]`},
		{"time without a zone", field(table.Time), `[[1,"2023-01-01T00:00:00"]]`},
		{"time is a date", field(table.Time), `[[1,"2023-01-01"]]`},
		{"bool is a number", field(table.Bool), `[[1,1]]`},
		{"something follows", field(table.Bool), `[[1,true]] []`},
		{"garbage follows", field(table.Bool), `[[1,true]]x`},
		{"nothing", field(table.Bool), ``},
	} {
		t.Run(x.name, func(t *testing.T) {
			if rows, err := decodeRows(strings.NewReader(x.json), x.fields, 2); err == nil {
				t.Errorf("was read as %v", rows)
			}
		})
	}
}

// A store's mistake must not become a page that only looks right.
func TestRowsThatCannotBeSent(t *testing.T) {
	for _, x := range []struct {
		name  string
		typ   table.Type
		value []table.Value
	}{
		{"too few values", table.Text, nil},
		{"text for a number", table.Integer, []table.Value{table.TextOf("5")}},
		{"number for a decimal", table.Decimal, []table.Value{table.IntegerOf(5)}},
		{"time for a date", table.Date, []table.Value{table.TimeOfMicro(5)}},
		{"zero date for text", table.Text, []table.Value{table.ZeroDate()}},
		{"bool for text", table.Text, []table.Value{table.BoolOf(true)}},
		{"year 10000", table.Date, []table.Value{table.DateOf(2932897)}},
		{"year -1", table.Time, []table.Value{table.TimeOf(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC))}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var w jx.Writer
			err := appendRow(&w, []reservation.Field{{Key: "f", Type: x.typ}}, table.Row{Key: 1, Values: x.value})
			if err == nil {
				t.Errorf("was sent as %s", w.String())
			}
		})
	}
}

// Texts share blocks, and a later one must not change an earlier one.
func TestArenaKeepsItsTexts(t *testing.T) {
	var a arena
	var held []string
	for i := range 20_000 {
		held = append(held, a.hold([]byte(fmt.Sprintf("text %d", i))))
	}
	for i, s := range held {
		if s != fmt.Sprintf("text %d", i) {
			t.Fatalf("text %d became %q", i, s)
		}
	}
	long := strings.Repeat("x", 3*arenaBlock)
	if a.hold([]byte(long)) != long {
		t.Error("a text longer than a block was changed")
	}
}

// benchRows are 1,000 rows of the 25 columns of an export that names none.
func benchRows(tb testing.TB) ([]reservation.Field, []table.Row) {
	tb.Helper()
	fields, err := reservation.FieldsOf(reservation.DefaultFields())
	if err != nil {
		tb.Fatal(err)
	}
	rows := make([]table.Row, 1000)
	for i := range rows {
		rows[i] = table.Row{Key: int64(i), Values: make([]table.Value, len(fields))}
		for j, f := range fields {
			switch f.Type {
			case table.Integer:
				rows[i].Values[j] = table.IntegerOf(int64(i * j))
			case table.Decimal:
				rows[i].Values[j] = table.DecimalOf(int64(i*1234), 2)
			case table.Date:
				rows[i].Values[j] = table.DateOf(int64(16_000 + i/7))
			case table.Time:
				rows[i].Values[j] = table.TimeOfMicro(1_400_000_000_000_000 + int64(i)*61_000_000)
			case table.Text:
				rows[i].Values[j] = table.TextOf(fmt.Sprintf("%s of row %d\n<한글> & more", f.Key, i/(1+j%3*100)))
			default:
				rows[i].Values[j] = table.TextOf(fmt.Sprintf("%08d", i))
			}
		}
	}
	return fields, rows
}

func BenchmarkEncode(b *testing.B) {
	fields, rows := benchRows(b)
	var w jx.Writer
	b.ReportAllocs()
	for b.Loop() {
		w.Reset()
		for _, row := range rows {
			if err := appendRow(&w, fields, row); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(len(w.Buf)))
}

func BenchmarkDecode(b *testing.B) {
	fields, rows := benchRows(b)
	encoded := encodeRows(b, fields, rows)
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeRows(bytes.NewReader(encoded), fields, len(rows)); err != nil {
			b.Fatal(err)
		}
	}
}
