package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

func verified(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	found, err := sheet.Verify(t.Context(), sheet.XLSX, f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return found.Rows()
}

func TestAFileOfMadeUpRows(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.xlsx")
	r, err := File(t.Context(), FileConfig{Rows: 2345, Columns: 20, Out: out, Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	if rows := verified(t, out); rows != 2345 || r.Rows != 2345 || r.FileBytes != info.Size() {
		t.Errorf("the file has %d rows and %d bytes, the report says %d and %d", rows, info.Size(), r.Rows, r.FileBytes)
	}
	if r.Alone == nil || r.Alone.Seconds <= 0 || r.File.Seconds <= 0 || r.File.Allocs <= r.Alone.Allocs || r.PeakBytes <= 0 {
		t.Errorf("got %+v, alone %+v", r, r.Alone)
	}
}

func TestATemporaryFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if _, err := File(t.Context(), FileConfig{Rows: 3, Columns: 1}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

func texts(rows []table.Row) (all [][]string) {
	for _, r := range rows {
		var row []string
		for _, v := range r.Values {
			row = append(row, v.String())
		}
		all = append(all, row)
	}
	return all
}

func TestMadeUpRowsHangOnTheirNumbersAlone(t *testing.T) {
	whole := texts(madeUp(1, 500, 20))
	parts := append(texts(madeUp(1, 123, 20)), texts(madeUp(124, 377, 20))...)
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("(-in one page +in two):\n%s", diff)
	}
	narrow := texts(madeUp(500, 1, 3))
	if diff := cmp.Diff(whole[499][:3], narrow[0]); diff != "" {
		t.Errorf("(-of all columns +of three):\n%s", diff)
	}
}

// The kinds of value are those that each column is for, and among 500 rows is
// everything that costs an encoder something.
func TestMadeUpRowsAreWhatTheirColumnsSay(t *testing.T) {
	kinds := map[table.Type]table.Kind{table.Text: table.KindText, table.Code: table.KindText, table.Integer: table.KindInteger,
		table.Decimal: table.KindDecimal, table.Date: table.KindDate, table.Time: table.KindTime}
	seen := map[string]bool{}
	for _, row := range madeUp(1, 500, 20) {
		for i, v := range row.Values {
			if v.IsNull() {
				seen["NULL in "+columns[i].Title] = true
			} else if v.Kind() != kinds[columns[i].Type] {
				t.Fatalf("row %d, %s is %v", row.Key, columns[i].Title, v)
			}
		}
		for _, mark := range []string{"\n", "<", "&", "=", "🎉"} {
			if strings.Contains(row.Values[19].Text(), mark) {
				seen[mark] = true
			}
		}
		if row.Values[19].Text() == "" {
			seen["empty"] = true
		}
	}
	for _, want := range []string{"NULL in Coupon", "NULL in Paid at", "\n", "<", "&", "=", "🎉", "empty"} {
		if !seen[want] {
			t.Errorf("no row has %q", want)
		}
	}
}

const tsvLine = `7000000001	R20260000007919	CONFIRMED	김민서	010-0001-0002	user1@naver.com	서울 바다 호텔	디럭스	2024-01-02	2024-01-04	2	3	120000.25	0.00	\N	120000.25	CARD	\N	2024-01-01 10:20:30	늦은\n체크인\t=1+1 \\N <b>`

func writeTSV(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.tsv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTSVFieldsBecomeValues(t *testing.T) {
	var got [][]string
	for b, err := range tsvBlocks(writeTSV(t, tsvLine+"\n"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := b.rows(20)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, texts(rows)...)
	}
	want := [][]string{{"7000000001", "R20260000007919", "CONFIRMED", "김민서", "010-0001-0002", "user1@naver.com", "서울 바다 호텔", "디럭스", "2024-01-02", "2024-01-04",
		"2", "3", "120000.25", "0.00", "NULL", "120000.25", "CARD", "NULL", "2024-01-01T10:20:30Z", "늦은\n체크인\t=1+1 \\N <b>"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTSVFilesAreReadInPages(t *testing.T) {
	tests := []struct {
		name  string
		text  string
		limit int
		want  []int
	}{
		{"empty", "", 0, nil},
		{"a last line without its end", tsvLine + "\n" + tsvLine, 0, []int{2}},
		{"more than a page", strings.Repeat(tsvLine+"\n", 2500), 0, []int{1000, 1000, 500}},
		{"a whole page", strings.Repeat(tsvLine+"\n", 1000), 0, []int{1000}},
		{"no more than asked", strings.Repeat(tsvLine+"\n", 2500), 1200, []int{1000, 200}},
		{"lines longer than the buffer", strings.Repeat(tsvLine+strings.Repeat("길", 1<<19)+"\n", 2), 0, []int{2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			next := 1
			for b, err := range tsvBlocks(writeTSV(t, test.text), test.limit) {
				if err != nil {
					t.Fatal(err)
				}
				rows, err := b.rows(20)
				if err != nil || len(rows) != b.lines || b.first != next {
					t.Fatalf("%d rows of %d lines from %d on, want from %d, error %v", len(rows), b.lines, b.first, next, err)
				}
				got, next = append(got, len(rows)), next+len(rows)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got pages of %v, want %v", got, test.want)
			}
		})
	}
}

func TestWhatFileRefuses(t *testing.T) {
	fields := strings.Split(tsvLine, "\t")
	changed := func(i int, to string) string {
		f := slices.Clone(fields)
		f[i] = to
		return strings.Join(f, "\t")
	}
	tsv := func(text string) FileConfig { return FileConfig{Columns: 20, TSV: writeTSV(t, text)} }
	tests := []struct {
		name string
		c    FileConfig
		want string
	}{
		{"no rows", FileConfig{Columns: 20}, "--rows: 0 is not between 1 and 10000000"},
		{"fewer than no rows", FileConfig{Rows: -1, Columns: 20, TSV: "x"}, "--rows: -1 is not"},
		{"no columns", FileConfig{Rows: 1}, "--columns: 0 is not between 1 and 20"},
		{"too many columns", FileConfig{Rows: 1, Columns: 21}, "--columns: 21 is not between 1 and 20"},
		{"no file", FileConfig{Columns: 20, TSV: filepath.Join(t.TempDir(), "none")}, "open the rows"},
		{"nowhere to write", FileConfig{Rows: 1, Columns: 1, Out: filepath.Join(t.TempDir(), "none", "x.xlsx")}, "create the file"},
		{"a field too few", tsv(tsvLine + "\n" + strings.Join(fields[:19], "\t") + "\n"), "line 2 does not have 20 fields"},
		{"a field too many", tsv(tsvLine + "\tmore\n"), "line 1 does not have 20 fields"},
		{"an empty line", tsv("\n"), "line 1 does not have 20 fields"},
		{"a number that is none", tsv(changed(10, "two")), "line 1: field 11 is no integer"},
		{"a decimal where whole numbers are", tsv(changed(10, "2.5")), "line 1: field 11 is no integer"},
		{"a date that is none", tsv(changed(8, "2024-02-30")), "line 1: field 9 is no date"},
		{"a time that is none", tsv(changed(18, "noon")), "line 1: field 19 is no time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.c.Out == "" {
				test.c.Out = filepath.Join(t.TempDir(), "x.xlsx")
			}
			if _, err := File(t.Context(), test.c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestAFileOfATSV(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.xlsx")
	r, err := File(t.Context(), FileConfig{Columns: 7, Out: out, TSV: writeTSV(t, strings.Repeat(tsvLine+"\n", 1500))})
	if err != nil {
		t.Fatal(err)
	}
	if rows := verified(t, out); rows != 1500 || r.Rows != 1500 || r.Columns != 7 || r.Alone != nil {
		t.Errorf("the file has %d rows; the report says %+v", rows, r)
	}
}
