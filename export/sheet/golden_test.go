package sheet_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden files show at a glance what a file looks like, and any change of it.
func TestGoldenFiles(t *testing.T) {
	rows := reservations(5)
	spec := sheet.Spec{Format: sheet.CSV, Name: "Reservations", Columns: reservationColumns, Location: seoul(t)}
	text, _ := write(t, spec, rows, 2)
	spec.Format = sheet.XLSX
	book, _ := write(t, spec, rows, 2)
	for name, got := range map[string]string{
		"testdata/reservations.csv": string(text),
		"testdata/sheet1.xml":       part(t, book, "xl/worksheets/sheet1.xml"),
		"testdata/workbook.xml":     part(t, book, "xl/workbook.xml"),
		"testdata/core.xml":         part(t, book, "docProps/core.xml"),
		"testdata/styles.xml":       part(t, book, "xl/styles.xml"),
	} {
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
