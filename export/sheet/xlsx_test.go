package sheet_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// oneColumn is the shortest table.
var oneColumn = []sheet.Column{{Title: "n", Type: table.Integer, Width: 9.5}}

func numbers(n int) []table.Row {
	rows := make([]table.Row, n)
	for i := range rows {
		rows[i] = table.Row{Key: int64(i + 1), Values: []table.Value{table.IntegerOf(int64(i + 1))}}
	}
	return rows
}

func verify(t *testing.T, format sheet.Format, file []byte) sheet.Contents {
	t.Helper()
	c, err := sheet.Verify(t.Context(), format, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWorkbookLook(t *testing.T) {
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Name: "예약", Columns: oneColumn, MaxRows: 3}, numbers(7), 2)
	type look struct {
		Name, Frozen, Filter string
		Selected             bool
		Width                float64
		Cells                []string
	}
	var got []look
	for _, s := range readWorkbook(t, file) {
		l := look{Name: s.Name, Frozen: s.Frozen, Filter: s.Filter, Selected: s.Selected, Width: s.Width}
		for _, c := range s.Cells {
			l.Cells = append(l.Cells, fmt.Sprintf("%s=%v bold=%t", c.Ref, c.Value, c.Bold))
		}
		got = append(got, l)
	}
	header := "A1=n bold=true"
	want := []look{
		{"예약", "A2", "$A$1:$A$4", true, 9.5, []string{header, "A2=1 bold=false", "A3=2 bold=false", "A4=3 bold=false"}},
		{"예약 (2)", "A2", "$A$1:$A$4", false, 9.5, []string{header, "A2=4 bold=false", "A3=5 bold=false", "A4=6 bold=false"}},
		{"예약 (3)", "A2", "$A$1:$A$2", false, 9.5, []string{header, "A2=7 bold=false"}},
		{"Export info", "", "", false, 28, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workbook (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{3, 3, 1}, verify(t, sheet.XLSX, file).Sheets); diff != "" {
		t.Errorf("rows found (-want +got):\n%s", diff)
	}
}

func TestFileWithoutRowsHasItsHeader(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		file, _ := write(t, sheet.Spec{Format: format, Columns: oneColumn}, nil, 1)
		if diff := cmp.Diff([]int64{0}, verify(t, format, file).Sheets); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if format == sheet.CSV && string(file) != "\uFEFF\"n\"\r\n" {
			t.Errorf("csv is %q", file)
		}
		if format == sheet.XLSX && readWorkbook(t, file)[0].Cells[0].Value != "n" {
			t.Error("xlsx has no header")
		}
	}
}

// A sheet holds 1,048,576 rows with its header; one more row needs a second.
func TestOneRowMoreThanASheetHolds(t *testing.T) {
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn}, numbers(sheet.MaxDataRows+1), 50_000)
	if diff := cmp.Diff([]int64{sheet.MaxDataRows, 1}, verify(t, sheet.XLSX, file).Sheets); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	second := part(t, file, "xl/worksheets/sheet2.xml")
	if !strings.Contains(second, `<row r="2"><c r="A2" s="4"><v>1048576</v></c></row></sheetData>`) || !strings.Contains(second, "<t>n</t>") {
		t.Errorf("second sheet: %s", second[max(0, len(second)-600):])
	}
}

// Three million rows need three sheets, the last one not full.
func TestThreeMillionRowsFillThreeSheets(t *testing.T) {
	const rows = 3_000_000
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn}, numbers(rows), 50_000)
	want := []int64{sheet.MaxDataRows, sheet.MaxDataRows, rows - 2*sheet.MaxDataRows}
	if diff := cmp.Diff(want, verify(t, sheet.XLSX, file).Sheets); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if third := part(t, file, "xl/worksheets/sheet3.xml"); !strings.Contains(third, `<v>3000000</v></c></row></sheetData>`) {
		t.Errorf("the third sheet ends with %s", third[max(0, len(third)-200):])
	}
}

func TestSheetIsSplitBeforeItsXMLPassesTheLimit(t *testing.T) {
	columns := []sheet.Column{{Title: "memo", Type: table.Text}}
	var rows []table.Row
	for i := range 40 {
		text := strings.Repeat("_x000D_\"&<>\t'가\r\xff", 500)
		if i%2 == 0 {
			text = strings.Repeat("x000D_", 900)
			text = "_" + text
		}
		rows = append(rows, table.Row{Key: int64(i), Values: []table.Value{table.TextOf(text)}})
	}
	spec := sheet.Spec{Format: sheet.XLSX, Columns: columns, MaxXML: 400_000}
	file, _ := write(t, spec, rows, 7)
	c := verify(t, sheet.XLSX, file)
	if len(c.Sheets) < 2 || c.Rows() != 40 {
		t.Fatalf("sheets %v", c.Sheets)
	}
	for i := range c.Sheets {
		if n := len(part(t, file, fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1))); int64(n) > spec.MaxXML {
			t.Errorf("sheet %d has %d bytes of XML", i+1, n)
		}
	}
	again, _ := write(t, spec, rows, 40)
	if diff := cmp.Diff(c.Sheets, verify(t, sheet.XLSX, again).Sheets); diff != "" {
		t.Errorf("another page size splits elsewhere (-want +got):\n%s", diff)
	}
}

func TestLimitsDoNotSplitRowsOfUsualSize(t *testing.T) {
	e, err := sheet.New(&bytes.Buffer{}, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns})
	if err != nil {
		t.Fatal(err)
	}
	rows := reservations(1000)
	placed := 0
	for placed+len(rows) <= sheet.MaxDataRows {
		spans := e.Place(rows)
		if len(spans) != 1 || spans[0].Sheet != 0 || spans[0].First != placed+2 {
			t.Fatalf("after %d rows: %d spans, sheet %d, row %d", placed, len(spans), spans[0].Sheet, spans[0].First)
		}
		placed += len(rows)
	}
	spans := e.Place(rows)
	got := []int{len(spans), len(spans[0].Rows), spans[1].Sheet, spans[1].First, len(spans[1].Rows)}
	if diff := cmp.Diff([]int{2, sheet.MaxDataRows - placed, 1, 2, 1000 - (sheet.MaxDataRows - placed)}, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestParallelEncodingGivesTheSameFile(t *testing.T) {
	rows := reservations(6000)
	rows[1234].Values[2] = table.TextOf("a\x00b")
	rows[5000].Values[2] = table.TextOf(strings.Repeat("가", 40_000))
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		spec := sheet.Spec{Format: format, Name: "R", Columns: reservationColumns, MaxRows: 2500}
		want, _ := write(t, spec, rows, 300)
		var got bytes.Buffer
		e, err := sheet.New(&got, spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeParallel(e, rows, 300, 8); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got.Bytes()) {
			t.Errorf("%s: the files differ", format)
		}
	}
}

// Rows are numbered after they were fetched, so one that is gone leaves no gap.
func TestDeletedRowLeavesNoBlankLine(t *testing.T) {
	rows := slices.Concat(numbers(10)[:4], numbers(10)[7:])
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn}, rows, 4)
	if n := verify(t, sheet.XLSX, file).Rows(); n != 7 {
		t.Errorf("%d rows", n)
	}
	xml := part(t, file, "xl/worksheets/sheet1.xml")
	if !strings.Contains(xml, `<c r="A5" s="4"><v>4</v></c></row><row r="6"><c r="A6" s="4"><v>8</v></c></row>`) {
		t.Errorf("rows around the gap: %s", xml)
	}
}

func TestOneStylePerFormat(t *testing.T) {
	columns := make([]sheet.Column, sheet.MaxColumns)
	row := table.Row{Values: make([]table.Value, len(columns))}
	for i := range columns {
		columns[i] = sheet.Column{Title: fmt.Sprint(i), Type: table.Decimal, Scale: uint8(i % 3)}
		row.Values[i] = table.DecimalOf(int64(i), uint8(i%3))
	}
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: columns}, slices.Repeat([]table.Row{row}, 5), 5)
	if n := verify(t, sheet.XLSX, file).Rows(); n != 5 {
		t.Errorf("%d rows", n)
	}
	styles := part(t, file, "xl/styles.xml")
	if !strings.Contains(styles, `<cellXfs count="8">`) { // general, bold, three of the info sheet, three scales
		t.Errorf("styles: %s", styles)
	}
}

func TestSpecThatNoFileCanFollow(t *testing.T) {
	good := sheet.Spec{Format: sheet.XLSX, Columns: oneColumn}
	for name, change := range map[string]func(*sheet.Spec){
		"format":        func(s *sheet.Spec) { s.Format = "ods" },
		"no column":     func(s *sheet.Spec) { s.Columns = nil },
		"columns":       func(s *sheet.Spec) { s.Columns = make([]sheet.Column, sheet.MaxColumns+1) },
		"rows":          func(s *sheet.Spec) { s.MaxRows = sheet.MaxDataRows + 1 },
		"negative rows": func(s *sheet.Spec) { s.MaxRows = -1 },
		"XML":           func(s *sheet.Spec) { s.MaxXML = sheet.MaxSheetXML + 1 },
		"width":         func(s *sheet.Spec) { s.Columns = []sheet.Column{{Width: 256}} },
		"scale":         func(s *sheet.Spec) { s.Columns = []sheet.Column{{Scale: 31}} },
	} {
		spec := good
		change(&spec)
		if _, err := sheet.New(&bytes.Buffer{}, spec); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

var errFull = errors.New("disk full")

// fullWriter takes some bytes and then fails.
type fullWriter struct{ room int }

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrorsStay(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		spec := sheet.Spec{Format: format, Columns: reservationColumns}
		for name, spoil := range map[string]func(e sheet.Encoder) error{
			"row of another width": func(e sheet.Encoder) error {
				_, err := e.Encode(sheet.Span{First: 2, Rows: numbers(1)})
				return err
			},
			"chunk out of order": func(e sheet.Encoder) error { return e.Append(sheet.Chunk{First: 3, Rows: 1}) },
			"chunk of a sheet too far": func(e sheet.Encoder) error {
				return e.Append(sheet.Chunk{Sheet: 2, First: 2, Rows: 1})
			},
			"writer that fails": func(e sheet.Encoder) error {
				for {
					c, err := e.Encode(e.Place(reservations(1000))[0])
					if err != nil {
						return err
					}
					if err := e.Append(c); err != nil {
						if !errors.Is(err, errFull) {
							t.Errorf("%s: cause lost: %v", format, err)
						}
						return err
					}
				}
			},
		} {
			t.Run(string(format)+"/"+name, func(t *testing.T) {
				e, err := sheet.New(&fullWriter{room: 1 << 20}, spec)
				if err != nil {
					t.Fatal(err)
				}
				first := spoil(e)
				if first == nil {
					t.Fatal("no error")
				}
				_, encode := e.Encode(sheet.Span{First: 2, Rows: reservations(1)})
				for call, err := range map[string]error{"Encode": encode, "Append": e.Append(sheet.Chunk{First: 2}), "Close": e.Close(sheet.Info{})} {
					if err == nil || err.Error() != first.Error() {
						t.Errorf("%s afterwards: %v, want %v", call, err, first)
					}
				}
			})
		}
	}
}

func TestClosedFileTakesNothing(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		e, err := sheet.New(&bytes.Buffer{}, sheet.Spec{Format: format, Columns: oneColumn})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(sheet.Info{}); err != nil {
			t.Fatal(err)
		}
		if e.Append(sheet.Chunk{First: 2, Rows: 1}) == nil || e.Close(sheet.Info{}) == nil {
			t.Errorf("%s: a closed file was written to", format)
		}
	}
}

// Two hundred columns, in pages of one row: each cell is where it belongs.
func TestManyColumnsAndPagesOfOneRow(t *testing.T) {
	const columns, rows = 200, 30
	spec := sheet.Spec{Format: sheet.XLSX}
	for c := range columns {
		spec.Columns = append(spec.Columns, sheet.Column{Title: fmt.Sprintf("c%d", c), Type: table.Integer})
	}
	var data []table.Row
	for r := range rows {
		row := table.Row{Key: int64(r + 1)}
		for c := range columns {
			row.Values = append(row.Values, table.IntegerOf(int64(r*columns+c)))
		}
		data = append(data, row)
	}
	file, _ := write(t, spec, data, 1)
	xml := part(t, file, "xl/worksheets/sheet1.xml")
	for r := range rows {
		for c := range columns {
			want := fmt.Sprintf(`<c r="%s%d" s="4"><v>%d</v></c>`, columnName(c), r+2, r*columns+c)
			if !strings.Contains(xml, want) {
				t.Fatalf("row %d, column %d: no %s", r, c, want)
			}
		}
	}
}
