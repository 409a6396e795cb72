package sheet_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/table"
)

func TestADraftIsRefused(t *testing.T) {
	good := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}
	for name, c := range map[string]struct {
		spec  sheet.Spec
		after int64
	}{
		"no column":        {sheet.Spec{Format: sheet.XLSX}, 0},
		"no format":        {sheet.Spec{Columns: reservationColumns}, 0},
		"less than no row": {good, -1},
	} {
		if _, err := sheet.NewDraft(c.spec, c.after); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
	d, err := sheet.NewDraft(good, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Encode(sheet.Span{First: 2, Rows: make([]table.Row, sheet.MaxDataRows+1)}); err == nil {
		t.Error("more rows than a sheet has were drafted as one chunk")
	}
}

// At the end of a full sheet a page is drafted for the next one: its numbers must
// not pass the last that excelize takes.
func TestADraftAtTheLastRowOfASheet(t *testing.T) {
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}
	pages := segment{after: sheet.MaxDataRows - 5, pages: [][]table.Row{reservations(5), reservations(9)}}
	over := segment{after: sheet.MaxDataRows - 5, pages: [][]table.Row{reservations(9)}}
	for name, c := range map[string]struct {
		job  segment
		want [][2]int
	}{
		"ends with it": {pages, [][2]int{{0, sheet.MaxDataRows - 5 + 2}, {1, 2}}},
		"passes it":    {over, [][2]int{{1, 2}}},
	} {
		drafts := readChunks(t, draft(t, spec, c.job))
		for i, want := range c.want {
			if got := [2]int{drafts[i].Sheet, drafts[i].First}; got != want {
				t.Errorf("%s: drafted at sheet and row %v, want %v", name, got, want)
			}
		}
		if want, got := direct(t, spec, c.job), joined(t, spec, drafts); !bytes.Equal(want.file, got.file) {
			t.Errorf("%s: the joined file has other bytes than the direct one", name)
		}
	}
}

func TestMovedChunksComeInOrder(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		spec := sheet.Spec{Format: format, Columns: reservationColumns}
		drafts := readChunks(t, draft(t, spec, segment{pages: [][]table.Row{reservations(3), reservations(4)}}))
		e := newEncoder(t, io.Discard, spec)
		j := e.(sheet.Joiner)
		j.PlaceChunk(drafts[0])
		second, err := j.Move(j.PlaceChunk(drafts[1])[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Append(second); err == nil || !strings.Contains(err.Error(), "was next") {
			t.Errorf("%s: the second chunk came first: %v", format, err)
		}
		if _, err := j.Move(sheet.Move{}); err == nil {
			t.Errorf("%s: a lost file took a chunk", format)
		}
	}
}

// The XML of a chunk may be a hundred times its bytes: it is moved block by block.
func TestAMoveHoldsNoWholeXML(t *testing.T) {
	rows := make([]table.Row, 1000)
	for i := range rows {
		rows[i].Values = []table.Value{table.TextOf(strings.Repeat("x", sheet.MaxCellText))}
	}
	spec := sheet.Spec{Format: sheet.XLSX, Columns: []sheet.Column{{Title: "text", Type: table.Text}}}
	chunk := readChunks(t, draft(t, spec, segment{after: 1, pages: [][]table.Row{rows}}))[0]
	j := newEncoder(t, io.Discard, spec).(sheet.Joiner)
	moves := j.PlaceChunk(chunk)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := j.Move(moves[0]); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := int64(after.TotalAlloc - before.TotalAlloc); n > chunk.Raw/4 {
		t.Errorf("%d bytes were allocated for %d of XML and %d deflated", n, chunk.Raw, len(chunk.Data))
	}
}

func TestAChunkOfTheOtherFormat(t *testing.T) {
	pages := segment{pages: [][]table.Row{reservations(3)}}
	for from, to := range map[sheet.Format]sheet.Format{sheet.XLSX: sheet.CSV, sheet.CSV: sheet.XLSX} {
		chunk := readChunks(t, draft(t, sheet.Spec{Format: from, Columns: reservationColumns}, pages))[0]
		e := newEncoder(t, io.Discard, sheet.Spec{Format: to, Columns: reservationColumns})
		j := e.(sheet.Joiner)
		if _, err := j.Move(j.PlaceChunk(chunk)[0]); err == nil {
			t.Errorf("a %s file took a chunk of a %s file", to, from)
		}
	}
}

// A chunk that is not what it says ends the file instead of losing rows in it.
func TestAChunkThatCannotMove(t *testing.T) {
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}
	pages := segment{after: 50, pages: [][]table.Row{reservations(30)}}
	for name, c := range map[string]struct {
		alter func(*sheet.Chunk)
		want  string
	}{
		"no bounds":     {func(c *sheet.Chunk) { c.Bounds = nil }, "no draft made it"},
		"cut short":     {func(c *sheet.Chunk) { c.Data = c.Data[:len(c.Data)/2] }, ""},
		"no data":       {func(c *sheet.Chunk) { c.Data = nil }, "not those of its sums"},
		"no deflate":    {func(c *sheet.Chunk) { c.Data = []byte("\xff\xff\xff") }, "inflate"},
		"longer":        {func(c *sheet.Chunk) { c.Raw-- }, "more bytes"},
		"shorter":       {func(c *sheet.Chunk) { c.Raw++ }, "not those of its sums"},
		"other bytes":   {func(c *sheet.Chunk) { c.CRC++ }, "not those of its sums"},
		"other numbers": {func(c *sheet.Chunk) { c.First = 7 }, "another row"},
		"a row less":    {func(c *sheet.Chunk) { c.Rows, c.Bounds = 31, append(c.Bounds, 1) }, "30 rows"},
		"a row more":    {func(c *sheet.Chunk) { c.Rows, c.Bounds = 29, c.Bounds[1:] }, "30 rows"},
	} {
		chunk := readChunks(t, draft(t, spec, pages))[0]
		c.alter(&chunk)
		e := newEncoder(t, io.Discard, spec)
		j := e.(sheet.Joiner)
		if _, err := j.Move(j.PlaceChunk(chunk)[0]); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one of %q", name, err, c.want)
		}
		if err := e.Close(sheet.Info{}); err == nil {
			t.Errorf("%s: the file could be ended", name)
		}
	}
}
