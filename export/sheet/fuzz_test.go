package sheet_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

func seeds(f *testing.F) {
	for _, s := range []string{"", "a\x16b", "\xED\xA0\x80", "\uFFFE", "=1+1", "-0.02", "+82 10", "\t=", "\r\n", "a\r\r\nb", `"`, `""`, "_x000D_x000D_", " x ", "🙂가", "]]>&<"} {
		f.Add(s)
	}
}

// FuzzCSV writes any text and reads it back with encoding/csv.
func FuzzCSV(f *testing.F) {
	seeds(f)
	columns := []sheet.Column{{Title: "a", Type: table.Text}, {Title: "b", Type: table.Code}}
	f.Fuzz(func(t *testing.T, s string) {
		file, losses := write(t, sheet.Spec{Format: sheet.CSV, Columns: columns}, []table.Row{{Values: []table.Value{table.TextOf(s), table.TextOf("z")}}}, 1)
		if verify(t, sheet.CSV, file).Rows() != 1 {
			t.Fatal("not one record")
		}
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\uFEFF"))))
		records, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		got := records[1][0]
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x16\uFFFE\uFFFF") {
			t.Errorf("%q holds what it must not", got)
		}
		if strings.ContainsAny(got[:min(1, len(got))], "=@\t\r") {
			t.Errorf("%q could be a formula", got)
		}
		if len(losses.Counts) == 0 {
			// encoding/csv reads CR LF inside quotes as LF; nothing else may change.
			if bare := strings.TrimPrefix(got, "'"); got != strings.ReplaceAll(s, "\r\n", "\n") && bare != strings.ReplaceAll(s, "\r\n", "\n") {
				t.Errorf("%q came back as %q", s, got)
			}
		}
	})
}

// FuzzText writes any text as a cell and reads its XML back.
func FuzzText(f *testing.F) {
	seeds(f)
	f.Add(strings.Repeat("🙂", 20_000))
	e, err := sheet.New(&bytes.Buffer{}, sheet.Spec{Format: sheet.XLSX, Columns: []sheet.Column{{Title: "a", Type: table.Text}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := e.Encode(sheet.Span{First: 2, Rows: []table.Row{{Values: []table.Value{table.TextOf(s)}}}})
		if err != nil {
			t.Fatal(err)
		}
		var row struct {
			Cell struct {
				Text string   `xml:"is>t"`
				Runs []string `xml:"is>r>t"`
			} `xml:"c"`
		}
		if err := xml.Unmarshal(inflate(t, c.Data), &row); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, run := range append(row.Cell.Runs, row.Cell.Text) {
			got += unescape(run)
		}
		if n := len(utf16.Encode([]rune(got))); n > sheet.MaxCellText {
			t.Errorf("%d UTF-16 units", n)
		}
		if want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s); len(c.Losses.Counts) == 0 && got != want {
			t.Errorf("%q came back as %q", want, got)
		}
	})
}
