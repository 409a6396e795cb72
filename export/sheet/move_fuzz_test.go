package sheet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/internal/table"
)

// FuzzMove drafts any texts at a wrong place and moves them behind other rows, on
// sheets of any size: the chunks must be those of the direct way.
func FuzzMove(f *testing.F) {
	f.Add("a", `<row r="2">`, uint32(3), uint8(2), uint8(0), uint16(0))
	f.Add(`</t></is></c></row><row r="9"><c r="A9">`, "_x000D_x000D_", uint32(1000), uint8(0), uint8(2), uint16(700))
	f.Add(" r=\"B2\"", "\x00\xff<c ", uint32(1<<21), uint8(9), uint8(10), uint16(0))
	x := newTestXLSX(f, []Column{{Type: table.Text}, {Type: table.Integer}, {Type: table.Code}})
	f.Fuzz(func(t *testing.T, a, b string, after uint32, front, maxRows uint8, maxXML uint16) {
		x.spec.MaxRows = max(1, int(maxRows))
		placers := [2]*placer{newPlacer(x.spec.MaxRows, 1+int64(maxXML)), newPlacer(x.spec.MaxRows, 1+int64(maxXML))}
		var page []table.Row
		for key := range int64(5) {
			page = append(page, table.Row{Key: key, Values: []table.Value{table.TextOf(a), table.IntegerOf(key), table.TextOf(b)}})
		}
		d := &xlsxDraft{xlsx: x, after: int64(after)}
		var want, got []Chunk
		for i, p := range placers {
			for range front {
				p.place(page[:1])
			}
			x.placer = p
			for _, rows := range [][]table.Row{page[:2], page[2:]} {
				if i == 0 {
					want = append(want, encodeSpans(t, x, x.Place(rows))...)
					continue
				}
				for _, c := range encodeSpans(t, d, d.Place(rows)) {
					got = append(got, moveChunk(t, x, c)...)
				}
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("chunks (-direct +moved):\n%s", diff)
		}
	})
}

func encodeSpans(t *testing.T, e interface{ Encode(Span) (Chunk, error) }, spans []Span) (chunks []Chunk) {
	t.Helper()
	for _, s := range spans {
		c, err := e.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func moveChunk(t *testing.T, j Joiner, drafted Chunk) (chunks []Chunk) {
	t.Helper()
	for _, m := range j.PlaceChunk(drafted) {
		c, err := j.Move(m)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}
