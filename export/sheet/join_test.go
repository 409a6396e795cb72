package sheet_test

import (
	"bytes"
	"testing"

	"rowmill/export/sheet"
)

func TestAStoredChunkComesBack(t *testing.T) {
	d, err := sheet.NewDraft(sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}, 7)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, s := range d.Place(reservations(10)) {
		c, err := d.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := sheet.WriteChunk(&out, c); err != nil {
			t.Fatal(err)
		}
	}
	c, err := sheet.ReadChunk(&out)
	if err != nil || c.Rows != 10 || c.First != 9 {
		t.Fatal(c, err)
	}
}
