package sheet_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// LibreOffice cuts what it shows: a serial that is a hair too small would show a
// second too few, which openpyxl's rounding hides.
func TestLibreOfficeShowsWhatWasWritten(t *testing.T) {
	loc := seoul(t)
	columns := []sheet.Column{{Title: "at", Type: table.Time}, {Title: "day", Type: table.Date}, {Title: "text", Type: table.Text}, {Title: "money", Type: table.Decimal, Scale: 2}}
	texts := []string{"_x000D_", "_x000D_x000D_", "=1+1", " x ", "00123", "a\nb", "\"q\"", "_x005F_x000D_", "_x005F_"}
	want := [][]string{{"at", "day", "text", "money"}}
	var rows []table.Row
	for i := range 3000 {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10_007 * time.Second)
		text := texts[i%len(texts)]
		rows = append(rows, table.Row{Key: int64(i), Values: []table.Value{
			table.TimeOf(at), table.DateOf(int64(20_000 + i)), table.TextOf(text), table.DecimalOf(int64(i*11), 2),
		}})
		day := time.Unix(int64(20_000+i)*86400, 0).UTC()
		money := string(table.DecimalOf(int64(i*11), 2).AppendDecimal(nil))
		want = append(want, []string{at.In(loc).Format(time.DateTime), day.Format(time.DateOnly), text, money})
	}
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Name: "Rows", Columns: columns, Location: loc}, rows, 1000)
	if diff := cmp.Diff(want, libreOffice(t, file)); diff != "" {
		t.Errorf("LibreOffice shows (-want +got):\n%.3000s", diff)
	}
}

// libreOffice gives the first sheet as LibreOffice shows it, but for the marks
// between thousands.
func libreOffice(t *testing.T, file []byte) [][]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file.xlsx"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "soffice", "--headless", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true", "--outdir", dir, filepath.Join(dir, "file.xlsx"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("LibreOffice (package libreoffice-calc) cannot convert the file: %v\n%s", err, out)
	}
	f, err := os.Open(filepath.Join(dir, "file.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		r[len(r)-1] = strings.ReplaceAll(r[len(r)-1], ",", "")
	}
	return records
}
