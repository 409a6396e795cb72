package sheet_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// segment is what one worker drafts: pages, and how many rows it takes to stand
// before them.
type segment struct {
	after int64
	pages [][]table.Row
}

// draft encodes the segments, each by a draft of its own, and stores the chunks.
func draft(t testing.TB, spec sheet.Spec, segments ...segment) (stored []byte) {
	t.Helper()
	var out bytes.Buffer
	for _, s := range segments {
		d, err := sheet.NewDraft(spec, s.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range s.pages {
			for _, span := range d.Place(page) {
				c, err := d.Encode(span)
				if err != nil {
					t.Fatal(err)
				}
				if err := sheet.WriteChunk(&out, c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return out.Bytes()
}

// readChunks gives stored chunks.
func readChunks(t testing.TB, stored []byte) (chunks []sheet.Chunk) {
	t.Helper()
	for r := bytes.NewReader(stored); r.Len() > 0; {
		c, err := sheet.ReadChunk(r)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// made is a file and what it was made of.
type made struct {
	file   []byte
	chunks []sheet.Chunk
	losses sheet.Losses
}

// finish appends the chunks and ends the file.
func finish(t testing.TB, e sheet.Encoder, out *bytes.Buffer, chunks []sheet.Chunk) made {
	t.Helper()
	m := made{chunks: chunks}
	for _, c := range chunks {
		if err := e.Append(c); err != nil {
			t.Fatal(err)
		}
		m.losses.Merge(c.Losses)
	}
	if err := e.Close(sheet.Info{At: madeAt, Losses: m.losses}); err != nil {
		t.Fatal(err)
	}
	m.file = out.Bytes()
	return m
}

// direct writes the file as if there were no drafts.
func direct(t testing.TB, spec sheet.Spec, segments ...segment) made {
	t.Helper()
	var out bytes.Buffer
	e := newEncoder(t, &out, spec)
	return finish(t, e, &out, encodeAll(t, e, segments...))
}

func newEncoder(t testing.TB, w io.Writer, spec sheet.Spec) sheet.Encoder {
	t.Helper()
	e, err := sheet.New(w, spec)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// encodeAll places and encodes the pages of the segments.
func encodeAll(t testing.TB, e sheet.Encoder, segments ...segment) (chunks []sheet.Chunk) {
	t.Helper()
	for _, s := range segments {
		for _, page := range s.pages {
			for _, span := range e.Place(page) {
				c, err := e.Encode(span)
				if err != nil {
					t.Fatal(err)
				}
				chunks = append(chunks, c)
			}
		}
	}
	return chunks
}

// joined writes the file out of drafted chunks.
func joined(t testing.TB, spec sheet.Spec, drafts []sheet.Chunk) made {
	t.Helper()
	var out bytes.Buffer
	e := newEncoder(t, &out, spec)
	return finish(t, e, &out, moveAll(t, e, drafts))
}

// moveAll places drafted chunks and moves them, all at once.
func moveAll(t testing.TB, e sheet.Encoder, drafts []sheet.Chunk) []sheet.Chunk {
	t.Helper()
	j := e.(sheet.Joiner)
	var moves []sheet.Move
	for _, c := range drafts {
		moves = append(moves, j.PlaceChunk(c)...)
	}
	chunks, errs := make([]sheet.Chunk, len(moves)), make([]error, len(moves))
	var group sync.WaitGroup
	for i, m := range moves {
		group.Go(func() { chunks[i], errs[i] = j.Move(m) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return chunks
}

// hostile are texts that could be taken for the XML around them, and those that
// excelize writes in each of its ways.
var hostile = []string{
	"", "a", "plain", ` r="A2"`, `<row r="2">`, `<c r="B3">`, `</row><row r="9"><c r="A9"`, `r="2"`, "<", ">", `"`, "'", "&", "_x000D_x000D_", "_x003C_c r=",
	" lead", "trail ", "two\nlines", "\r\n", "\t", "\x00", "\xff", "가나다", "🙂", "=1+1", "\uFFFE", "-2+3", ",", strings.Repeat("<é", 20_000), strings.Repeat("plain ", 30_000) + "x",
}

var joinColumns = []sheet.Column{
	{Title: "text", Type: table.Text}, {Title: "code", Type: table.Code}, {Title: "integer", Type: table.Integer},
	{Title: "decimal", Type: table.Decimal, Scale: 2}, {Title: "date", Type: table.Date}, {Title: "time", Type: table.Time}, {Title: "any", Type: table.Bool},
}

// hostileRow gives a row of any cells; few are long.
func hostileRow(random *rand.Rand, key int64) table.Row {
	text := func() table.Value {
		const long = 2
		n := len(hostile)
		if random.IntN(30) > 0 {
			n -= long
		}
		return table.TextOf(hostile[random.IntN(n)])
	}
	number := func() int64 { return int64(random.Uint64()) >> random.IntN(64) }
	values := []table.Value{text(), text(), table.IntegerOf(number()), table.DecimalOf(number(), 2), table.DateOf(number() >> 40), table.TimeOfMicro(number()), table.BoolOf(key%2 == 0)}
	for i := range values {
		switch random.IntN(8) {
		case 0:
			values[i] = table.Null()
		case 1:
			values[i] = table.ZeroDate()
		case 2:
			values[i] = text()
		}
	}
	return table.Row{Key: key, Values: values}
}

// hostileJob gives segments of pages of which rows were deleted after the segments'
// places were guessed, of some all.
func hostileJob(random *rand.Rand) (segments []segment) {
	key, deleted := int64(0), random.IntN(3)
	for range 1 + random.IntN(4) {
		s := segment{after: key}
		for range random.IntN(4) {
			var page []table.Row
			none := random.IntN(8) == 0
			for range random.IntN(12) {
				row := hostileRow(random, key)
				key++
				if !none && (deleted == 0 || random.IntN(10*deleted) > 0) {
					page = append(page, row)
				}
			}
			s.pages = append(s.pages, page)
		}
		segments = append(segments, s)
	}
	return segments
}

// A joined file is byte for byte the file that its rows give without drafts,
// whatever was deleted before them and wherever its sheets end.
func TestAJoinedFileIsTheDirectOne(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	var kept, renumbered, cut, withLosses int
	for range 60 {
		spec := sheet.Spec{Format: sheet.XLSX, Name: "Rows", Columns: joinColumns, Location: seoul(t)}
		switch random.IntN(4) {
		case 0:
			spec.MaxRows = 1 + random.IntN(12)
		case 1:
			spec.MaxXML = 70<<10 + random.Int64N(40<<10)
		case 2:
			spec.Format = sheet.CSV
		}
		job := hostileJob(random)
		drafts := readChunks(t, draft(t, spec, job...))
		want, got := direct(t, spec, job...), joined(t, spec, drafts)
		if diff := cmp.Diff(want.chunks, got.chunks, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("chunks (-direct +joined):\n%.4000s", diff)
		}
		if !bytes.Equal(want.file, got.file) {
			t.Fatal("the joined file has other bytes than the direct one")
		}
		rows := int64(0)
		for _, c := range drafts {
			rows += int64(c.Rows)
		}
		if verify(t, spec.Format, got.file).Rows() != rows {
			t.Fatal("the joined file has lost rows")
		}
		cut += len(got.chunks) - len(drafts)
		if len(got.losses.Places) > 0 {
			withLosses++
		}
		for i := range min(len(drafts), len(got.chunks)) {
			if drafts[i].First != got.chunks[i].First {
				renumbered++
			} else {
				kept++
			}
		}
	}
	if kept < 20 || renumbered < 20 || cut < 20 || withLosses < 20 {
		t.Errorf("too few cases: %d chunks kept, %d renumbered, %d cut, %d files with losses", kept, renumbered, cut, withLosses)
	}
}

// Of the size that pages have: past a block of the renumbering and past a run of
// the encoding, and with numbers that get longer and shorter.
func TestALongChunkMoves(t *testing.T) {
	rows := reservations(6000)
	rows[17].Values[19] = table.TextOf(strings.Repeat("<c r=\"", 5000))
	rows[18].Values[19] = table.TextOf(strings.Repeat("plain ", 5000) + ".")
	for _, after := range []int64{0, 1, 95, 9_995, 1_000_000} {
		spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns, MaxRows: 5000}
		job := []segment{{after: 0, pages: [][]table.Row{rows[:97]}}, {after: after, pages: [][]table.Row{rows[97:]}}}
		job[1].pages[0][3].Values[19] = table.TextOf(strings.Repeat("<c r=\"", 5000))
		want, got := direct(t, spec, job...), joined(t, spec, readChunks(t, draft(t, spec, job...)))
		if len(got.chunks) != 3 {
			t.Errorf("%d chunks", len(got.chunks))
		}
		if !bytes.Equal(want.file, got.file) {
			t.Errorf("after %d: the joined file has other bytes than the direct one", after)
		}
	}
}

// A file's losses are the same though a cut chunk lists but the first of its own.
func TestTheLossesOfACutChunk(t *testing.T) {
	rows := make([]table.Row, 1500)
	for i := range rows {
		rows[i] = table.Row{Key: int64(i), Values: []table.Value{table.ZeroDate(), table.TextOf("a\x00")}}
	}
	columns := []sheet.Column{{Title: "day", Type: table.Date}, {Title: "text", Type: table.Text}}
	for _, maxRows := range []int{100, 499, 500, 501, 700, 1499} {
		spec := sheet.Spec{Format: sheet.XLSX, Columns: columns, MaxRows: maxRows}
		job := segment{after: 3, pages: [][]table.Row{rows}}
		want, got := direct(t, spec, job), joined(t, spec, readChunks(t, draft(t, spec, job)))
		if diff := cmp.Diff(want.losses, got.losses); diff != "" {
			t.Errorf("%d rows a sheet (-direct +joined):\n%s", maxRows, diff)
		}
		if !bytes.Equal(want.file, got.file) {
			t.Errorf("%d rows a sheet: the joined file has other bytes than the direct one", maxRows)
		}
	}
}

// A chunk whose guess is right keeps its bytes, on another sheet too.
func TestARightGuessKeepsTheBytes(t *testing.T) {
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns, MaxRows: 10}
	rows := reservations(20)
	d, err := sheet.NewDraft(spec, 30)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Encode(d.Place(rows[:10])[0])
	if err != nil {
		t.Fatal(err)
	}
	if c.Sheet != 3 || c.First != 2 || len(c.Bounds) != 10 {
		t.Errorf("drafted at sheet %d, row %d, with %d bounds", c.Sheet, c.First, len(c.Bounds))
	}
	e := newEncoder(t, io.Discard, spec)
	moves := e.(sheet.Joiner).PlaceChunk(c)
	if len(moves) != 1 {
		t.Fatalf("%d moves", len(moves))
	}
	moved, err := e.(sheet.Joiner).Move(moves[0])
	if err != nil {
		t.Fatal(err)
	}
	if &moved.Data[0] != &c.Data[0] || moved.Sheet != 0 || moved.First != 2 || moved.Bounds != nil {
		t.Errorf("moved to sheet %d, row %d, with %d bounds, or with other bytes", moved.Sheet, moved.First, len(moved.Bounds))
	}
}

// Where a file's rows are partly drafted, the others are placed among them.
func TestDraftsAndRowsMix(t *testing.T) {
	spec := sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns, MaxRows: 7}
	rows := reservations(20)
	pages := segment{pages: [][]table.Row{rows[:5], rows[5:12], rows[12:]}}
	drafted := readChunks(t, draft(t, spec, segment{after: 6, pages: pages.pages[1:2]}))
	var out bytes.Buffer
	e := newEncoder(t, &out, spec)
	chunks := encodeAll(t, e, segment{pages: pages.pages[:1]})
	chunks = append(chunks, moveAll(t, e, drafted)...)
	chunks = append(chunks, encodeAll(t, e, segment{pages: pages.pages[2:]})...)
	if got := finish(t, e, &out, chunks); !bytes.Equal(got.file, direct(t, spec, pages).file) {
		t.Error("the mixed file has other bytes than the direct one")
	}
}
