package sheet

import (
	"bytes"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/table"
)

func TestCombinedCRCIsThatOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for _, n := range []int{0, 1, 2, 7, 255, 256, 4096, 99_999, 100_000} {
		a, b := data[:n], data[n:]
		got := combineCRC(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b), int64(len(b)))
		if want := crc32.ChecksumIEEE(data); got != want {
			t.Errorf("cut at %d: %08x, want %08x", n, got, want)
		}
	}
}

// Lengths past 32 bits: a shift is the product of the shifts of its parts.
func TestShiftPastFourGiB(t *testing.T) {
	for _, n := range []int64{1 << 31, 1 << 32, 1<<32 + 1, 1<<40 + 12345} {
		if got, want := shiftCRC(n+(1<<30)), multiplyCRC(shiftCRC(n), shiftCRC(1<<30)); got != want {
			t.Errorf("%d: %08x, want %08x", n, got, want)
		}
	}
}

func TestInsidePassesOnWhatLiesBetween(t *testing.T) {
	const head, rows, tail = "<worksheet><sheetData>", "<row/><row/>", "</sheetData></worksheet>"
	for _, content := range []string{"", "x", rows, strings.Repeat(rows, 9)} {
		for step := 1; step < 200; step++ {
			var got bytes.Buffer
			in := &inside{w: &got, skip: len(head), tail: []byte(tail)}
			for p := range slices.Chunk([]byte(head+content+tail), step) {
				if n, err := in.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := in.end(); err != nil || got.String() != content {
				t.Fatalf("in steps of %d: %q, error %v", step, got.String(), err)
			}
		}
	}
	in := &inside{w: &bytes.Buffer{}, tail: []byte(tail)}
	if _, err := in.Write([]byte(rows + "</sheetData></worksheet >")); err != nil {
		t.Fatal(err)
	}
	if in.end() == nil {
		t.Error("another end was taken")
	}
}

func TestNamesAreLegalAndUnique(t *testing.T) {
	long := strings.Repeat("가", 40)
	for _, c := range []struct {
		wanted []string
		want   []string
	}{
		{[]string{"예약", "예약", "예약"}, []string{"예약", "예약 (2)", "예약 (3)"}},
		{[]string{"Rows", "ROWS", "rows (2)"}, []string{"Rows", "ROWS (2)", "rows (2) (2)"}},
		{[]string{`a[b]:c*d?e/f\g`}, []string{"a_b__c_d_e_f_g"}},
		{[]string{"'quoted'", "Kim's"}, []string{"’quoted’", "Kim’s"}},
		{[]string{"History", "HISTORY"}, []string{"History_", "HISTORY_ (2)"}},
		{[]string{"", "  ", "Sheet"}, []string{"Sheet", "Sheet (2)", "Sheet (3)"}},
		{[]string{long, long}, []string{long[:31*3], long[:27*3] + " (2)"}},
		{[]string{strings.Repeat("🙂", 16)}, []string{strings.Repeat("🙂", 15)}},
		{[]string{"a\x00\xffb\nc"}, []string{"a\uFFFD\uFFFDb_c"}},
	} {
		var n names
		var got []string
		for _, w := range c.wanted {
			got = append(got, n.next(w, "Sheet"))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.wanted, diff)
		}
	}
}

// A bound that is too low would let a sheet pass 4 GiB.
func TestBoundIsNeverBelowTheXML(t *testing.T) {
	pieces := []string{"_x000D_", "x005F_", "\"", "'", "&", "<", ">", "\t", "\n", "\r\n", "\r", " ", "\x00", "\xff", "가", "🙂", "\uFFFE", "a", "1", strings.Repeat("<", 40_000)}
	random := rand.New(rand.NewPCG(3, 4))
	var rows []table.Row
	for range 300 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(strings.Repeat(pieces[random.IntN(len(pieces))], 1+random.IntN(9)))
		}
		rows = append(rows, table.Row{Values: []table.Value{
			table.TextOf(b.String()), table.IntegerOf(math.MinInt64), table.DateOf(-900_000), table.TimeOfMicro(-3e15),
			table.DecimalOf(math.MinInt64, 18), table.BoolOf(true), table.ZeroDate(), table.Null(),
		}})
	}
	columns := make([]Column, len(rows[0].Values))
	for i := range columns {
		columns[i].Type = table.Time
	}
	e, err := newXLSX(&bytes.Buffer{}, Spec{Columns: columns, Location: time.UTC, MaxRows: MaxDataRows, MaxXML: MaxSheetXML})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		c, err := e.Encode(Span{First: MaxDataRows, Rows: rows[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		rough, exact := roughBound(&rows[i]), exactBound(&rows[i])
		if len(rows[i].Values[0].Text()) > MaxCellText {
			exact = min(exact, rough)
		}
		if rough < c.Raw || exact < c.Raw {
			t.Errorf("row %d: %d bytes of XML, bounds %d and %d; %.100q", i, c.Raw, rough, exact, rows[i].Values[0].Text())
		}
	}
}

func TestGuardedText(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "a": false, " =1": false, "1-2": false, "=": true, "@": true, "\t": true, "\r": true,
		"+": true, "-": true, "+5": false, "-5": false, "-0.02": false, "-5.": true, "-.5": true, "-1.2.3": true,
		"+82 10": true, "-2+3": true, "--1": true, "-1e5": true, "+cmd|' /C calc'!A0": true,
	} {
		if got := guarded(s); got != want {
			t.Errorf("%q: %t", s, got)
		}
	}
}

// In each zone and at each time the serial must be the wall clock's, also around
// the hours that a change of the clock skips or repeats.
func TestSerialIsTheWallClock(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Seoul", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for s := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC).Unix(); s < 1_800_000_000; s += 1799 * 7 {
			wall := time.Unix(s, 0).In(loc)
			x, ok := timeSerial(s*1e6, loc)
			day, rest := math.Modf(x)
			want, _ := dateSerial(time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC).Unix() / 86400)
			clock := wall.Hour()*3600 + wall.Minute()*60 + wall.Second()
			if !ok || int64(day) != want || math.Abs(rest*86400-float64(clock)) > 1e-4 {
				t.Fatalf("%s: serial %v, want day %d and %d s", wall, x, want, clock)
			}
		}
	}
}
