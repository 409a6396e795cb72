package sheet

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// formColumns has a column of each type, the last without a style.
var formColumns = []Column{
	{Type: table.Text}, {Type: table.Code}, {Type: table.Integer}, {Type: table.Decimal, Scale: 2},
	{Type: table.Date}, {Type: table.Time}, {Type: table.Bool}, {Type: table.Text},
}

func newTestXLSX(t testing.TB, columns []Column) *xlsx {
	t.Helper()
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	x, err := newXLSX(&bytes.Buffer{}, Spec{Columns: columns, Location: seoul, MaxRows: MaxDataRows, MaxXML: MaxSheetXML})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// excelizeRows is the rows' XML if excelize writes each of their cells.
func excelizeRows(t testing.TB, x *xlsx, s Span) string {
	t.Helper()
	b, err := newChunkBook(len(x.spec.Columns))
	if err != nil {
		t.Fatal(err)
	}
	err = b.rows(func(sw *excelize.StreamWriter) error {
		for i, row := range s.Rows {
			for c := range row.Values {
				value, _ := cellOf(row.Values[c], x.spec.Columns[c].text(), x.spec.Location)
				if b.row[c] = nil; value != nil {
					b.set(c, x.styles.columns[c], value)
				}
			}
			if err := sw.SetRow("A"+strconv.Itoa(s.First+i), b.row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.xml.String()
}

func ourRows(t testing.TB, x *xlsx, s Span) string {
	t.Helper()
	var xml bytes.Buffer
	if err := x.encodeRun(&xml, s, &Losses{}); err != nil {
		t.Fatal(err)
	}
	return xml.String()
}

// What is put into forms is to the byte what excelize writes itself.
func TestCellsAreExcelizesOwn(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"a", "Z9", " ", "_", "_x", "x000D_", "_x000D_", "&", "<", ">", "\"", "'", "\t", "\n", "\r", "\x00", "\x7f", "\u0085", "\xff", "가", "🙂", "\uFFFD", "\uFFFE", "\uFFFF", "\uFEFF", "=1+1", strings.Repeat("é", 20_000)}
	text := func() table.Value {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return table.TextOf(b.String())
	}
	number := func() int64 { return int64(random.Uint64()) >> random.IntN(64) }
	value := func() table.Value {
		switch random.IntN(9) {
		case 0:
			return table.Null()
		case 1:
			return table.IntegerOf(number())
		case 2:
			return table.DecimalOf(number(), uint8(random.IntN(19)))
		case 3:
			return table.DateOf(number() >> 32)
		case 4:
			return table.TimeOfMicro(number())
		case 5:
			return table.BoolOf(random.IntN(2) == 1)
		case 6:
			return table.ZeroDate()
		}
		return text()
	}
	x := newTestXLSX(t, formColumns)
	for round := range 300 {
		s := Span{First: 1 + random.IntN(MaxDataRows-20), Rows: make([]table.Row, random.IntN(20))}
		for i := range s.Rows {
			s.Rows[i].Values = []table.Value{text(), text(), table.IntegerOf(number()), table.DecimalOf(number(), 2), table.DateOf(number() >> 40), table.TimeOfMicro(number()), value(), value()}
		}
		if diff := cmp.Diff(excelizeRows(t, x, s), ourRows(t, x, s)); diff != "" {
			t.Fatalf("round %d (-excelize +rowmill):\n%s", round, diff)
		}
	}
}

func FuzzCellsAreExcelizesOwn(f *testing.F) {
	f.Add("a_x000D_x000D_", int64(math.MinInt64), uint8(18))
	f.Add(" &", int64(253402300799999999), uint8(0))
	x := newTestXLSX(f, formColumns)
	f.Fuzz(func(t *testing.T, s string, n int64, scale uint8) {
		span := Span{First: 2, Rows: []table.Row{{Values: []table.Value{
			table.TextOf(s), table.TextOf(s), table.IntegerOf(n), table.DecimalOf(n, scale),
			table.DateOf(n), table.TimeOfMicro(n), table.BoolOf(n > 0), table.DecimalOf(n, scale),
		}}}}
		if diff := cmp.Diff(excelizeRows(t, x, span), ourRows(t, x, span)); diff != "" {
			t.Errorf("(-excelize +rowmill):\n%s", diff)
		}
	})
}

// A cell that excelize does not write as it was asked is never passed over.
func TestForeignCellsAreRefused(t *testing.T) {
	for _, xml := range []string{"", `<row r="2"></row>`, `<row r="2"><c r="B2"><v>1</v></c></row>`, `<row r="2"><c r="A3"><v>1</v></c></row>`, `<row r="2"><c r="A2"><v>1</v>`} {
		c := cells{[]byte(xml)}
		if got, err := c.next("A", 2); err == nil {
			t.Errorf("%q: got %q", xml, got)
		}
	}
}
