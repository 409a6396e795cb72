package sheet_test
import ("testing";"os";"rowmill/export/sheet")
func TestSmoke(t *testing.T) {
 f, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns, Name:"예약", MaxRows: 1500}, reservations(3003), 700)
 os.WriteFile("/tmp/sheetlab/a.xlsx", f, 0o644)
}
