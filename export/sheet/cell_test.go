package sheet_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// cellCase is a value and what becomes of it: the cell's XML but for its place,
// what openpyxl reads, the CSV field, and what is counted.
type cellCase struct {
	name   string
	typ    table.Type
	scale  uint8
	value  table.Value
	xml    string // "": no cell
	read   any
	format string // "": General
	csv    string
	lost   []sheet.LossKind
	csvToo bool // lost in CSV as well
}

func str(style int, s string) string { return cellXML(style, "inlineStr", "<is><t>"+s+"</t></is>") }
func spaced(s string) string {
	return cellXML(0, "inlineStr", `<is><t xml:space="preserve">`+s+"</t></is>")
}
func num(style int, s string) string { return cellXML(style, "", "<v>"+s+"</v>") }

func cellXML(style int, kind, content string) string {
	s := "<c"
	if style != 0 {
		s += fmt.Sprintf(` s="%d"`, style)
	}
	if kind != "" {
		s += fmt.Sprintf(` t="%s"`, kind)
	}
	return s + ">" + content + "</c>"
}

// The numbers of the styles in the order in which the encoder makes them.
const (
	dateStyle, timeStyle, intStyle, codeStyle, money0, money2, money8 = 2, 3, 4, 5, 6, 7, 8
	dateFormat, timeFormat                                            = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
)

func decimal(s string) table.Value {
	v, ok := table.ParseDecimal(s)
	if !ok {
		panic("not a decimal: " + s)
	}
	return v
}

func date(s string) table.Value {
	v, ok := table.ParseDate(s)
	if !ok {
		panic("not a date: " + s)
	}
	return v
}

func instant(s string) table.Value {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return table.TimeOf(t)
}

const fffd = "\uFFFD"

var one = func(k sheet.LossKind) []sheet.LossKind { return []sheet.LossKind{k} }

var cellCases = []cellCase{
	{name: "null", value: table.Null()},
	{name: "empty text is not null", value: table.TextOf(""), xml: str(0, ""), read: "", csv: `""`},
	{name: "null code", typ: table.Code, value: table.Null()},
	{name: "empty code", typ: table.Code, value: table.TextOf(""), xml: str(codeStyle, ""), read: "", format: "@", csv: `""`},
	{name: "null number", typ: table.Decimal, value: table.Null()},
	{name: "text", value: table.TextOf("김민준 🙂"), xml: str(0, "김민준 🙂"), read: "김민준 🙂", csv: `"김민준 🙂"`},
	{name: "marks", value: table.TextOf(`a<b>&"c"'`), xml: str(0, "a&lt;b&gt;&amp;&#34;c&#34;&#39;"), read: `a<b>&"c"'`, csv: `"a<b>&""c""'"`},
	{name: "forbidden character", value: table.TextOf("a\x16b"), xml: str(0, "a"+fffd+"b"), read: "a" + fffd + "b", csv: `"a` + fffd + `b"`, lost: one(sheet.Replaced), csvToo: true},
	{name: "lone surrogate", value: table.TextOf("\xED\xA0\x80"), xml: str(0, fffd+fffd+fffd), read: fffd + fffd + fffd, csv: `"` + fffd + fffd + fffd + `"`, lost: one(sheet.Replaced), csvToo: true},
	{name: "U+FFFE and U+FFFF", value: table.TextOf("\uFFFEx\uFFFF"), xml: str(0, fffd+"x"+fffd), read: fffd + "x" + fffd, csv: `"` + fffd + "x" + fffd + `"`, lost: one(sheet.Replaced), csvToo: true},
	{name: "NUL in a code", typ: table.Code, value: table.TextOf("\x00"), xml: str(codeStyle, fffd), read: fffd, format: "@", csv: `"` + fffd + `"`, lost: one(sheet.Replaced), csvToo: true},
	{name: "U+FFFD itself is no loss", value: table.TextOf(fffd), xml: str(0, fffd), read: fffd, csv: `"` + fffd + `"`},
	{name: "long", value: table.TextOf(strings.Repeat("가", 40_000)), xml: str(0, strings.Repeat("가", 32_767)), read: strings.Repeat("가", 32_767), csv: `"` + strings.Repeat("가", 40_000) + `"`, lost: one(sheet.Cut)},
	{name: "as long as may be", value: table.TextOf(strings.Repeat("가", 32_767)), xml: str(0, strings.Repeat("가", 32_767)), read: strings.Repeat("가", 32_767), csv: `"` + strings.Repeat("가", 32_767) + `"`},
	{name: "no half pair", value: table.TextOf("a" + strings.Repeat("🙂", 16_384)), xml: str(0, "a"+strings.Repeat("🙂", 16_383)), read: "a" + strings.Repeat("🙂", 16_383), csv: `"a` + strings.Repeat("🙂", 16_384) + `"`, lost: one(sheet.Cut)},
	{name: "pair that does not fit", value: table.TextOf(strings.Repeat("🙂", 16_384)), xml: str(0, strings.Repeat("🙂", 16_383)), read: strings.Repeat("🙂", 16_383), csv: `"` + strings.Repeat("🙂", 16_384) + `"`, lost: one(sheet.Cut)},
	{name: "formula", value: table.TextOf("=1+1"), xml: str(0, "=1+1"), read: "=1+1", csv: `"'=1+1"`},
	{name: "at", value: table.TextOf("@x"), xml: str(0, "@x"), read: "@x", csv: `"'@x"`},
	{name: "minus formula", value: table.TextOf("-2+3"), xml: str(0, "-2+3"), read: "-2+3", csv: `"'-2+3"`},
	{name: "phone", typ: table.Code, value: table.TextOf("+82 10"), xml: str(codeStyle, "+82 10"), read: "+82 10", format: "@", csv: `"'+82 10"`},
	{name: "signed number", value: table.TextOf("-0.02"), xml: str(0, "-0.02"), read: "-0.02", csv: `"-0.02"`},
	{name: "plus number", value: table.TextOf("+5"), xml: str(0, "+5"), read: "+5", csv: `"+5"`},
	{name: "signs alone", value: table.TextOf("-."), xml: str(0, "-."), read: "-.", csv: `"'-."`},
	{name: "tab in front", value: table.TextOf("\t=1"), xml: spaced("&#x9;=1"), read: "\t=1", csv: "\"'\t=1\""},
	{name: "CR in front", value: table.TextOf("\r=1"), xml: spaced("\n=1"), read: "\n=1", csv: "\"'\r=1\""},
	{name: "link", value: table.TextOf("https://example.com"), xml: str(0, "https://example.com"), read: "https://example.com", csv: `"https://example.com"`},
	{name: "leading zeros", typ: table.Code, value: table.TextOf("00123"), xml: str(codeStyle, "00123"), read: "00123", format: "@", csv: `"00123"`},
	{name: "phone with dashes", typ: table.Code, value: table.TextOf("010-1234-5678"), xml: str(codeStyle, "010-1234-5678"), read: "010-1234-5678", format: "@", csv: `"010-1234-5678"`},
	{name: "number in a text column", value: table.IntegerOf(7), xml: str(0, "7"), read: "7", csv: `"7"`},
	{name: "long id", typ: table.Integer, value: table.IntegerOf(352776136104522888), xml: str(intStyle, "352776136104522888"), read: "352776136104522888", format: "0", csv: "352776136104522888", lost: one(sheet.DigitsAsText)},
	{name: "long id in a code column", typ: table.Code, value: table.IntegerOf(352776136104522888), xml: str(codeStyle, "352776136104522888"), read: "352776136104522888", format: "@", csv: `"352776136104522888"`},
	{name: "15 digits", typ: table.Integer, value: table.IntegerOf(-999_999_999_999_999), xml: num(intStyle, "-999999999999999"), read: -999_999_999_999_999.0, format: "0", csv: "-999999999999999"},
	{name: "16 digits", typ: table.Integer, value: table.IntegerOf(1_000_000_000_000_000), xml: str(intStyle, "1000000000000000"), read: "1000000000000000", format: "0", csv: "1000000000000000", lost: one(sheet.DigitsAsText)},
	{name: "least integer", typ: table.Integer, value: table.IntegerOf(-1 << 63), xml: str(intStyle, "-9223372036854775808"), read: "-9223372036854775808", format: "0", csv: "-9223372036854775808", lost: one(sheet.DigitsAsText)},
	{name: "whole decimal", typ: table.Decimal, value: decimal("12"), xml: num(money0, "12"), read: 12.0, format: "#,##0", csv: "12"},
	{name: "decimal past 15 digits", typ: table.Decimal, scale: 8, value: decimal("1234567890.12345678"), xml: str(money8, "1234567890.12345678"), read: "1234567890.12345678", format: "#,##0.00000000", csv: "1234567890.12345678", lost: one(sheet.DigitsAsText)},
	{name: "scale is shown", typ: table.Decimal, scale: 2, value: decimal("0.10"), xml: num(money2, "0.1"), read: 0.1, format: "#,##0.00", csv: "0.10"},
	{name: "exact decimal", typ: table.Decimal, scale: 2, value: decimal("-9999999999999.99"), xml: num(money2, "-9999999999999.99"), read: -9999999999999.99, format: "#,##0.00", csv: "-9999999999999.99"},
	{name: "zeros that end a fraction", typ: table.Decimal, scale: 8, value: decimal("123456789.120000000000000000"), xml: num(money8, "123456789.12"), read: 123456789.12, format: "#,##0.00000000", csv: "123456789.120000000000000000"},
	{name: "wide decimal", typ: table.Decimal, scale: 2, value: decimal("-12345678901234567890.5"), xml: str(money2, "-12345678901234567890.5"), read: "-12345678901234567890.5", format: "#,##0.00", csv: "-12345678901234567890.5", lost: one(sheet.DigitsAsText)},
	{name: "day before all serials", typ: table.Date, value: date("1899-12-31"), xml: str(dateStyle, "1899-12-31"), read: "1899-12-31", format: dateFormat, csv: "1899-12-31", lost: one(sheet.DateAsText)},
	{name: "first serial", typ: table.Date, value: date("1900-01-01"), xml: num(dateStyle, "1"), read: "1900-01-01T00:00:00", format: dateFormat, csv: "1900-01-01"},
	{name: "before the day that never was", typ: table.Date, value: date("1900-02-28"), xml: num(dateStyle, "59"), read: "1900-02-28T00:00:00", format: dateFormat, csv: "1900-02-28"},
	{name: "after the day that never was", typ: table.Date, value: date("1900-03-01"), xml: num(dateStyle, "61"), read: "1900-03-01T00:00:00", format: dateFormat, csv: "1900-03-01"},
	{name: "last serial", typ: table.Date, value: date("9999-12-31"), xml: num(dateStyle, "2958465"), read: "9999-12-31T00:00:00", format: dateFormat, csv: "9999-12-31"},
	{name: "zero date", typ: table.Time, value: table.ZeroDate(), lost: one(sheet.ZeroDate), csvToo: true},
	{name: "new year in Seoul", typ: table.Time, value: instant("2023-12-31T15:00:00Z"), xml: num(timeStyle, "45292"), read: "2024-01-01T00:00:00", format: timeFormat, csv: "2024-01-01T00:00:00+09:00"},
	{name: "a third of a day", typ: table.Time, value: instant("2026-11-30T07:13:19Z"), xml: num(timeStyle, "46356.6759143519"), read: "2026-11-30T16:13:19", format: timeFormat, csv: "2026-11-30T16:13:19+09:00"},
	{name: "end of a day stays on it", typ: table.Time, value: instant("2023-12-31T14:59:59.999999Z"), xml: num(timeStyle, "45291.9999999884"), read: "2023-12-31T23:59:59.999000", format: timeFormat, csv: "2023-12-31T23:59:59.999999+09:00"},
	{name: "end of all days", typ: table.Time, value: instant("9999-12-31T14:59:59.999999Z"), xml: num(timeStyle, "2958465.99999998"), read: "9999-12-31T23:59:59.998000", format: timeFormat, csv: "9999-12-31T23:59:59.999999+09:00"},
	{name: "summer time of 1988", typ: table.Time, value: instant("1988-07-01T00:00:00Z"), xml: num(timeStyle, "32325.4166666667"), read: "1988-07-01T10:00:00", format: timeFormat, csv: "1988-07-01T10:00:00+10:00"},
	{name: "time before all serials", typ: table.Time, value: instant("1899-12-31T00:00:00Z"), xml: str(timeStyle, "1899-12-31T00:00:00+00:00"), read: "1899-12-31T00:00:00+00:00", format: timeFormat, csv: "1899-12-31T00:00:00+00:00", lost: one(sheet.DateAsText)},
	{name: "true", typ: table.Bool, value: table.BoolOf(true), xml: cellXML(0, "b", "<v>1</v>"), read: true, csv: "TRUE"},
	{name: "false", typ: table.Bool, value: table.BoolOf(false), xml: cellXML(0, "b", "<v>0</v>"), read: false, csv: "FALSE"},
	{name: "CR LF", value: table.TextOf("a\r\nb"), xml: str(0, "a\nb"), read: "a\nb", csv: "\"a\r\nb\""},
	{name: "lone CR", value: table.TextOf("a\rb\r"), xml: spaced("a\nb\n"), read: "a\nb\n", csv: "\"a\rb\r\""},
	{name: "spaces", value: table.TextOf(" x "), xml: spaced(" x "), read: " x ", csv: `" x "`},
	// openpyxl takes escapes in inline strings as they stand; LibreOffice reads them rightly.
	{name: "looks like an escape", value: table.TextOf("_x000D_"), xml: str(0, "_x005F_x000D_"), read: "_x005F_x000D_", csv: `"_x000D_"`},
	{name: "two that share a mark", value: table.TextOf("_x000D_x000D_"), xml: cellXML(0, "inlineStr", "<is><r><t>_x000D</t></r><r><t>_x005F_x000D_</t></r></is>"), read: "_x000D_x005F_x000D_", csv: `"_x000D_x000D_"`},
}

func seoul(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// caseSpec makes a file of one row, whose columns are the cases.
func caseSpec(t *testing.T, format sheet.Format) (sheet.Spec, []table.Row) {
	t.Helper()
	spec := sheet.Spec{Format: format, Name: "Cells", Location: seoul(t)}
	row := table.Row{Key: 42}
	// These come first so that the styles have the numbers above.
	types := []sheet.Column{
		{Title: "s1", Type: table.Code}, {Title: "s2", Type: table.Decimal},
		{Title: "s3", Type: table.Decimal, Scale: 2}, {Title: "s4", Type: table.Decimal, Scale: 8},
	}
	for _, c := range types {
		spec.Columns = append(spec.Columns, c)
		row.Values = append(row.Values, table.Null())
	}
	for _, c := range cellCases {
		spec.Columns = append(spec.Columns, sheet.Column{Title: c.name, Type: c.typ, Scale: c.scale})
		row.Values = append(row.Values, c.value)
	}
	return spec, []table.Row{row}
}

const caseFrom = 4 // columns before the first case

func wantLosses(csv bool) (l sheet.Losses) {
	for _, c := range cellCases {
		for _, kind := range c.lost {
			if !csv || c.csvToo {
				l.Add(sheet.Loss{Kind: kind, Sheet: 1, Row: 2, Column: c.name, Key: 42})
			}
		}
	}
	return l
}

func TestCellsAsXML(t *testing.T) {
	spec, rows := caseSpec(t, sheet.XLSX)
	file, losses := write(t, spec, rows, 1)
	if diff := cmp.Diff(wantLosses(false), losses); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	xml := part(t, file, "xl/worksheets/sheet1.xml")
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<c r="([A-Z]+)2"(.*?</c>)`).FindAllStringSubmatch(xml, -1) {
		got[m[1]] = "<c" + m[2]
	}
	want := map[string]string{}
	for i, c := range cellCases {
		if c.xml != "" {
			want[columnName(caseFrom+i)] = c.xml
		}
	}
	for i, c := range cellCases {
		if name := columnName(caseFrom + i); want[name] != got[name] {
			t.Errorf("%s (%s2): got %.200s, want %.200s", c.name, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cells, want %d", len(got), len(want))
	}
	for _, tag := range []string{"<f>", "hyperlink", "<f "} {
		if strings.Contains(xml, tag) {
			t.Errorf("the sheet has %s", tag)
		}
	}
}

func TestCellsAsOpenpyxlReadsThem(t *testing.T) {
	spec, rows := caseSpec(t, sheet.XLSX)
	file, _ := write(t, spec, rows, 1)
	cells := map[string]readCell{}
	for _, c := range readWorkbook(t, file)[0].Cells {
		cells[c.Ref] = c
	}
	for i, c := range cellCases {
		got := cells[columnName(caseFrom+i)+"2"] // none for NULL
		if got.Format == "General" {
			got.Format = ""
		}
		if got.Value != c.read || got.Format != c.format {
			t.Errorf("%s: openpyxl reads %.100q (%s), want %.100q (%s)", c.name, got.Value, got.Format, c.read, c.format)
		}
	}
}

func TestCellsAsCSV(t *testing.T) {
	spec, rows := caseSpec(t, sheet.CSV)
	file, losses := write(t, spec, rows, 1)
	if diff := cmp.Diff(wantLosses(true), losses); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	body, ok := strings.CutPrefix(string(file), "\uFEFF")
	if !ok {
		t.Fatal("no byte order mark")
	}
	_, record, _ := strings.Cut(body, "\r\n")
	want := strings.Repeat(",", caseFrom)
	for i, c := range cellCases {
		if i > 0 {
			want += ","
		}
		want += c.csv
	}
	if diff := cmp.Diff(want+"\r\n", record); diff != "" {
		t.Errorf("record (-want +got):\n%.2000s", diff)
	}
}
