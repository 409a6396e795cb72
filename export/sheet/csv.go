package sheet

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"

	"rowmill/internal/table"
)

const byteOrderMark = "\uFEFF" // tells Excel that the file is UTF-8

// csvFile is the encoder of CSV files (RFC 4180, UTF-8). All text stands in
// quotes, so that NULL (nothing) and the empty text ("") differ. In a file of one
// column a NULL is therefore an empty line, which lenient readers skip.
type csvFile struct {
	w    io.Writer
	spec Spec
	next int // number of the next record to be placed
	rows int // appended
	head bool
	sticky
}

func newCSV(w io.Writer, spec Spec) *csvFile { return &csvFile{w: w, spec: spec, next: firstRow} }

func (c *csvFile) Place(rows []table.Row) []Span {
	if len(rows) == 0 {
		return nil
	}
	s := Span{First: c.next, Rows: rows}
	c.next += len(rows)
	return []Span{s}
}

func (c *csvFile) Encode(s Span) (Chunk, error) {
	if err := c.failed(); err != nil {
		return Chunk{}, err
	}
	chunk := Chunk{First: s.First, Rows: len(s.Rows)}
	var b []byte
	for i := range s.Rows {
		r := &s.Rows[i]
		if len(r.Values) != len(c.spec.Columns) {
			return Chunk{}, c.fail(fmt.Errorf("row %d (key %d) has %d values, the file has %d columns",
				s.First+i, r.Key, len(r.Values), len(c.spec.Columns)))
		}
		for j := range r.Values {
			if j > 0 {
				b = append(b, ',')
			}
			var lost loss
			if b, lost = c.appendField(b, j, r.Values[j]); lost != 0 {
				lost.add(&chunk.Losses, s.Sheet, s.First+i, c.spec.Columns[j].Title, r.Key)
			}
		}
		b = append(b, "\r\n"...)
	}
	chunk.Data, chunk.Raw, chunk.CRC = b, int64(len(b)), crc32.ChecksumIEEE(b)
	return chunk, nil
}

func (c *csvFile) appendField(b []byte, column int, v table.Value) ([]byte, loss) {
	switch {
	case v.Kind() == table.KindText:
		return appendQuoted(b, v.Text())
	case v.Kind() == table.KindZeroDate:
		return b, lossZeroDate
	case c.spec.Columns[column].text() && !v.IsNull():
		return appendQuoted(b, string(appendPlain(nil, v, c.spec.Location)))
	}
	return appendPlain(b, v, c.spec.Location), 0
}

// appendQuoted appends text in quotes, guarded against being taken for a formula.
func appendQuoted(b []byte, s string) ([]byte, loss) {
	var lost loss
	s, replaced := clean(s, false)
	if replaced {
		lost = lossReplaced
	}
	b = append(b, '"')
	if guarded(s) {
		b = append(b, '\'')
	}
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"'), lost
}

func (c *csvFile) Append(chunk Chunk) error {
	if err := c.failed(); err != nil {
		return err
	}
	if chunk.Sheet != 0 || chunk.First != firstRow+c.rows {
		return c.fail(fmt.Errorf("record %d came when record %d was next", chunk.First, firstRow+c.rows))
	}
	c.rows += chunk.Rows
	return c.write(chunk.Data)
}

// write writes data, and the header before the first.
func (c *csvFile) write(data []byte) error {
	if !c.head {
		c.head = true
		if _, err := c.w.Write(c.header()); err != nil {
			return c.fail(fmt.Errorf("write the header: %w", err))
		}
	}
	if _, err := c.w.Write(data); err != nil {
		return c.fail(fmt.Errorf("write records: %w", err))
	}
	return nil
}

func (c *csvFile) header() []byte {
	var b bytes.Buffer
	b.WriteString(byteOrderMark)
	for i, column := range c.spec.Columns {
		if i > 0 {
			b.WriteByte(',')
		}
		title, _ := appendQuoted(nil, column.Title)
		b.Write(title)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

func (c *csvFile) Close(Info) error {
	if err := c.failed(); err != nil {
		return err
	}
	if err := c.write(nil); err != nil {
		return err
	}
	_ = c.fail(errClosed)
	return nil
}
