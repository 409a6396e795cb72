package reservationhttp

import (
	"bytes"
	"testing"

	"rowmill/reservation"
)

// What a page costs in allocations does not grow with its rows. The bounds leave
// room for pools that a collection has emptied.
func TestACompactPageCostsAHandfulOfAllocations(t *testing.T) {
	fields, rows := benchRows(t)
	sent := reservation.Batch{Rows: rows}
	encoded := encodeCompact(t, fields, sent)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := readCompact(bytes.NewReader(encoded), fields, len(rows)); err != nil {
			t.Fatal(err)
		}
	}); n > 40 {
		t.Errorf("%v allocations to read %d rows", n, len(rows))
	}
	buf := make([]byte, 0, len(encoded))
	if n := testing.AllocsPerRun(20, func() {
		if _, err := appendCompact(buf, fields, sent); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations to write %d rows into a buffer", n, len(rows))
	}
}
