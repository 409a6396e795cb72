package sheet_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
)

func verifyBytes(ctx context.Context, format sheet.Format, file []byte) (sheet.Contents, error) {
	return sheet.Verify(ctx, format, bytes.NewReader(file), int64(len(file)))
}

// wantError checks that a file is refused for the reason.
func wantError(t *testing.T, format sheet.Format, file []byte, reason string) {
	t.Helper()
	if c, err := verifyBytes(t.Context(), format, file); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("found %v, error %v; want %q", c, err, reason)
	}
}

func TestVerifySeesEachFlippedByte(t *testing.T) {
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: reservationColumns}, reservations(40), 10)
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		text := part(t, file, f.Name)
		from, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, int64(f.CompressedSize64)/50)
		for at := from; at < from+int64(f.CompressedSize64); at += step {
			file[at] ^= 0x40
			// The padding before a stored block is nobody's: a flip there changes nothing.
			if _, err := verifyBytes(t.Context(), sheet.XLSX, file); err == nil && part(t, file, f.Name) != text {
				t.Errorf("%s: byte %d of %d flipped, and not seen", f.Name, at-from, f.CompressedSize64)
			}
			file[at] ^= 0x40
		}
	}
	verify(t, sheet.XLSX, file) // whole again
}

func TestVerifySeesEachCut(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		file, _ := write(t, sheet.Spec{Format: format, Columns: reservationColumns}, reservations(9), 10)
		records := 0
		for n := range file {
			if format == sheet.CSV && bytes.HasSuffix(file[:n], []byte("\r\n")) && !insideQuotes(file[:n]) {
				records++ // a cut between records cannot be seen, but their count tells
				if c := verify(t, format, file[:n]); c.Rows() != int64(records-1) {
					t.Errorf("csv cut after record %d: %d rows", records, c.Rows())
				}
				continue
			}
			if _, err := verifyBytes(t.Context(), format, file[:n]); err == nil {
				t.Errorf("%s cut to %d of %d bytes, and not seen", format, n, len(file))
			}
		}
	}
}

func insideQuotes(b []byte) bool { return bytes.Count(b, []byte(`"`))%2 == 1 }

// rewrite gives an xlsx file whose parts are what edit makes of them.
func rewrite(t *testing.T, file []byte, edit func(name, text string) (string, bool)) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, f := range z.File {
		text, keep := edit(f.Name, part(t, file, f.Name))
		if !keep {
			continue
		}
		w, err := to.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestVerifySaysWhatIsWrong(t *testing.T) {
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn, MaxRows: 20}, numbers(40), 10)
	const second = "xl/worksheets/sheet2.xml"
	row17 := `<row r="17"><c r="A17" s="4"><v>36</v></c></row>`
	for reason, c := range map[string]struct{ part, old, new string }{
		"sheet 2: row 17 is missing":                                   {second, row17, ""},
		"sheet 2: row 17 comes after row 17":                           {second, row17, row17 + row17},
		`sheet 2: "17x" is no row number`:                              {second, `row r="17"`, `row r="17x"`},
		`sheet 2: cell "A18" is out of place in row 17`:                {second, `"A17"`, `"A18"`},
		`sheet 2: cell "" is out of place in row 17`:                   {second, `<c r="A17"`, `<c`},
		"sheet 2: after row 17: </row> closes nothing":                 {second, "<v>36</v></c>", "<v>36</v>"},
		"sheet 2: the sheet breaks off after row 21":                   {second, "</worksheet>", ""},
		"sheet 2: text stands outside":                                 {second, "</worksheet>", "</worksheet>x"},
		"sheet 2: element worksheet stands outside the sheet":          {second, "</worksheet>", "</worksheet><worksheet>"},
		"sheet 2: row 1 is missing":                                    {second, `<row r="1">`, `<row r="2">`},
		"sheet 2: a tag does not end":                                  {second, "</sheetData>", "<c " + strings.Repeat("x", 600_000)},
		"sheet 1: the header is missing":                               {"xl/worksheets/sheet1.xml", "*", `<worksheet><sheetData/></worksheet>`},
		"part xl/styles.xml: read: XML syntax error":                   {"xl/styles.xml", "</styleSheet>", "<"},
		"part xl/styles.xml is missing":                                {"xl/styles.xml", "*", ""},
		"read part xl/workbook.xml":                                    {"xl/workbook.xml", "</workbook>", ""},
		"sheet 2: its part is missing":                                 {"xl/_rels/workbook.xml.rels", "worksheets/sheet2.xml", "worksheets/sheet9.xml"},
		"the workbook has 0 sheets; at least one of data and the info": {"xl/workbook.xml", "sheets", "sheetz"},
	} {
		changed := false
		broken := rewrite(t, file, func(name, text string) (string, bool) {
			if name != c.part {
				return text, true
			}
			changed = true
			if c.old == "*" {
				return c.new, c.new != ""
			}
			if !strings.Contains(text, c.old) {
				t.Errorf("%s: no %q in the part", reason, c.old)
			}
			return strings.ReplaceAll(text, c.old, c.new), true
		})
		if !changed {
			t.Errorf("%s: no part %s", reason, c.part)
		}
		wantError(t, sheet.XLSX, broken, reason)
	}
}

func TestVerifySeesAWrongCRC(t *testing.T) {
	var out bytes.Buffer
	e, err := sheet.New(&out, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn})
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Encode(e.Place(numbers(5))[0])
	if err != nil {
		t.Fatal(err)
	}
	c.CRC ^= 1
	if err := e.Append(c); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(sheet.Info{}); err != nil {
		t.Fatal(err)
	}
	wantError(t, sheet.XLSX, out.Bytes(), "checksum error")
}

func TestVerifyRefusesAPartThatStandsTwice(t *testing.T) {
	file, _ := write(t, sheet.Spec{Format: sheet.XLSX, Columns: oneColumn}, numbers(1), 1)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for range 2 {
		w, err := z.Create("xl/styles.xml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, part(t, file, "xl/styles.xml")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, sheet.XLSX, out.Bytes(), "stands in the archive twice")
}

func TestVerifyCSVSaysWhatIsWrong(t *testing.T) {
	for text, reason := range map[string]string{
		"":                                    "byte order mark is missing",
		"a,b\r\n":                             "byte order mark is missing",
		"\uFEFF":                              "the header is missing",
		"\uFEFFa,b\r\n1\r\n":                  "record 2: 1 fields stand under a header of 2",
		"\uFEFFa,b\r\n1,2,3\r\n":              "record 2: 3 fields stand under a header of 2",
		"\uFEFFa,b\r\n1,2":                    "breaks off in record 2",
		"\uFEFFa,b\r\n1,":                     "breaks off in record 2",
		"\uFEFFa,b\r\n1,2\r":                  "breaks off in record 2",
		"\uFEFFa,b\r\n1,\"2\r\n":              "breaks off in record 2",
		"\uFEFFa,b\n1,2\r\n":                  "record 1: an LF stands alone",
		"\uFEFFa,b\r1,2\r\n":                  "record 1: a CR stands alone",
		"\uFEFFa,b\r\n1,x\"2\"\r\n":           "record 2: a quote stands in a field without quotes",
		"\uFEFFa,b\r\n1,\"2\"x\r\n":           "record 2: text follows a closing quote",
		"\uFEFFa,b\r\n\"1\"\"\r\n,\",2\n\r\n": "record 2: an LF stands alone",
	} {
		wantError(t, sheet.CSV, []byte(text), reason)
	}
	if c := verify(t, sheet.CSV, []byte("\uFEFFa,b\r\n\"1\"\"\r\n,\",2\r\n,\"\"\r\n")); c.Rows() != 2 {
		t.Errorf("%d rows, want 2", c.Rows())
	}
}

func TestVerifyReadsAcrossBlocks(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		file, _ := write(t, sheet.Spec{Format: format, Columns: reservationColumns}, reservations(10_000), 1000)
		if c := verify(t, format, file); c.Rows() != 10_000 {
			t.Errorf("%s: %d rows", format, c.Rows())
		}
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		file, _ := write(t, sheet.Spec{Format: format, Columns: oneColumn}, numbers(10), 10)
		if _, err := verifyBytes(ctx, format, file); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

func TestVerifyOfAnUnknownFormat(t *testing.T) {
	if _, err := verifyBytes(t.Context(), "ods", nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("error %v", err)
	}
}

// failingReader fails at a place, as a store whose connection breaks.
type failingReader struct {
	*bytes.Reader
	at int64
}

func (r failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off <= r.at && r.at < off+int64(len(p)) {
		return 0, errFull
	}
	return r.Reader.ReadAt(p, off)
}

func TestVerifyGivesTheCauseOfAFailedRead(t *testing.T) {
	for _, format := range []sheet.Format{sheet.XLSX, sheet.CSV} {
		file, _ := write(t, sheet.Spec{Format: format, Columns: reservationColumns}, reservations(3000), 1000)
		r := failingReader{bytes.NewReader(file), int64(len(file) / 2)}
		if _, err := sheet.Verify(t.Context(), format, r, int64(len(file))); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

func TestChunkCarriesTheCRCOfItsBytes(t *testing.T) {
	e, err := sheet.New(io.Discard, sheet.Spec{Format: sheet.CSV, Columns: reservationColumns})
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Encode(e.Place(reservations(10))[0])
	if err != nil {
		t.Fatal(err)
	}
	if c.CRC != crc32.ChecksumIEEE(c.Data) || c.Raw != int64(len(c.Data)) || c.Rows != 10 || c.First != 2 {
		t.Errorf("chunk of %d bytes: raw %d, CRC %x, %d rows from %d", len(c.Data), c.Raw, c.CRC, c.Rows, c.First)
	}
}
