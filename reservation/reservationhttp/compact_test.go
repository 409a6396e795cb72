package reservationhttp

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/table"
	"rowmill/reservation"
)

func encodeCompact(t testing.TB, fields []reservation.Field, batch reservation.Batch) []byte {
	t.Helper()
	b, err := appendCompact(nil, fields, batch)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestACompactBatchComesBackAsItWas(t *testing.T) {
	fields := typed()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		sent := reservation.Batch{Rows: randomRows(r, fields, r.IntN(60))}
		for range r.IntN(5) {
			sent.Absent = append(sent.Absent, randomInteger(r))
		}
		got, err := readCompact(bytes.NewReader(encodeCompact(t, fields, sent)), fields, 64)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(sent.Absent, got.Absent); diff != "" {
			t.Fatalf("seed %d, absent (-sent +got):\n%s", seed, diff)
		}
		if len(sent.Rows)+len(got.Rows) > 0 {
			if diff := cmp.Diff(sent.Rows, got.Rows, sameValue); diff != "" {
				t.Fatalf("seed %d (-sent +got):\n%s", seed, diff)
			}
		}
	}
}

// The form is a contract between releases: this is "RMR1", byte for byte.
func TestTheCompactFormOfRMR1(t *testing.T) {
	fields, err := reservation.FieldsOf([]string{"id", "code", "amount", "check_in", "repeated_guest", "memo"})
	if err != nil {
		t.Fatal(err)
	}
	wide, _ := table.ParseDecimal("12345678901234567890.50")
	batch := reservation.Batch{Absent: []int64{7, 5}, Rows: []table.Row{
		{Key: 3, Values: []table.Value{table.IntegerOf(3), table.TextOf("00003"), table.DecimalOf(-638, 2), table.DateOf(1), table.BoolOf(true), table.Null()}},
		{Key: 4, Values: []table.Value{table.IntegerOf(4), table.TextOf(""), wide, table.ZeroDate(), table.BoolOf(false), table.TextOf("\xff")}},
	}}
	want := "RMR1" + "\x06" + "\x02\x0e\x03" + "\x02" +
		"\x06" + "\x02\x06" + "\x01\x0500003" + "\x03\x02\xfb\x09" + "\x05\x02" + "\x08" + "\x00" +
		"\x02" + "\x02\x08" + "\x01\x00" + "\x04\x1712345678901234567890.50" + "\x09" + "\x07" + "\x01\x01\xff" + "RMR1"
	if diff := cmp.Diff(want, string(encodeCompact(t, fields, batch))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing cut passes as whole, and no damage makes the reader panic or take more
// than there is.
func TestADamagedCompactBatchFails(t *testing.T) {
	fields := typed()
	whole := encodeCompact(t, fields, reservation.Batch{Absent: []int64{5}, Rows: randomRows(rand.New(rand.NewPCG(3, 3)), fields, 4)})
	for n := range whole {
		if _, err := readCompact(bytes.NewReader(whole[:n]), fields, 5); err == nil {
			t.Fatalf("%d of %d bytes were read", n, len(whole))
		}
	}
	for name, damaged := range map[string]string{
		"something follows":     string(whole) + "x",
		"another mark":          "RMR2" + string(whole[4:]),
		"fewer fields":          "RMR1\x01\x00\x00RMR1",
		"more rows than asked":  "RMR1" + string(rune(len(fields))) + "\x00\x06" + strings.Repeat("\x00", 100) + "RMR1",
		"an endless count":      "RMR1" + string(rune(len(fields))) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a text past the end":   "RMR1" + string(rune(len(fields))) + "\x00\x01\x00\x01\x7f" + "RMR1",
		"a tag that is unknown": "RMR1" + string(rune(len(fields))) + "\x00\x01\x00\x63" + "RMR1",
	} {
		if _, err := readCompact(strings.NewReader(damaged), fields, 5); err == nil {
			t.Errorf("%s: read as whole", name)
		}
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		damaged := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			damaged[r.IntN(len(damaged))] = byte(r.Uint32())
		}
		if got, err := readCompact(bytes.NewReader(damaged), fields, 5); err == nil && len(got.Rows) > 5 {
			t.Errorf("seed %d gave %d rows", seed, len(got.Rows))
		}
	}
}

func TestAValueThatIsNotItsFieldsTypeIsNotSent(t *testing.T) {
	fields := typed()
	row := table.Row{Key: 1, Values: make([]table.Value, len(fields))}
	row.Values[0] = table.TextOf("x")
	if fields[0].Type == table.Text || fields[0].Type == table.Code {
		row.Values[0] = table.IntegerOf(1)
	}
	for name, batch := range map[string]reservation.Batch{"type": {Rows: []table.Row{row}}, "width": {Rows: []table.Row{{Key: 1}}}} {
		if _, err := appendCompact(nil, fields, batch); err == nil {
			t.Errorf("%s: was encoded", name)
		}
	}
}

func TestTheCompactFormIsForThoseWhoAskForIt(t *testing.T) {
	base, _ := serve(t, &fakeStore{ids: upTo(3)})
	for accept, want := range map[string]string{"": typeJSON, "*/*": typeJSON, "application/json": typeJSON, typeRows + ", application/json": typeRows} {
		res, _ := post(t, base+pathBatch, `{"ids":[1,2],"fields":["id"]}`, "Accept", accept)
		if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: %d %s, want %s", accept, res.StatusCode, got, want)
		}
		if res.Header.Get("Server-Timing") == "" {
			t.Errorf("Accept %q: no Server-Timing", accept)
		}
	}
}

func BenchmarkEncodeCompact(b *testing.B) {
	fields, rows := benchRows(b)
	b.ReportAllocs()
	buf := []byte(nil)
	for b.Loop() {
		var err error
		if buf, err = appendCompact(buf[:0], fields, reservation.Batch{Rows: rows}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeCompact(b *testing.B) {
	fields, rows := benchRows(b)
	encoded := encodeCompact(b, fields, reservation.Batch{Rows: rows})
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readCompact(bytes.NewReader(encoded), fields, len(rows)); err != nil {
			b.Fatal(err)
		}
	}
}
