package reservationhttp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"rowmill/internal/table"
	"rowmill/reservation"
)

// typeRows is the media type of a batch in its compact form, which a client asks
// for with Accept; JSON is what everybody else gets. It is the mark "RMR1", the
// number of fields, the absent ids, the rows, and the mark again. Numbers are
// varints, signed ones zigzag, ids as the difference to the one before. A row is
// its key and its values, a value its tag and what the tag says. The form is a
// contract between releases: another layout gets another mark.
const typeRows = "application/vnd.rowmill.rows"

const compactMark = "RMR1"

// Tags of the values.
const (
	tagNull byte = iota
	tagText
	tagInteger
	tagDecimal // its scale, its unscaled number
	tagWide    // a decimal past 64 bits, as text
	tagDate    // days since 1970-01-01
	tagTime    // microseconds since then
	tagFalse
	tagTrue
	tagZeroDate
)

var compactBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// appendCompact appends a batch. It fails if a row is not what the fields say.
func appendCompact(b []byte, fields []reservation.Field, batch reservation.Batch) ([]byte, error) {
	b = append(b, compactMark...)
	b = binary.AppendUvarint(b, uint64(len(fields)))
	b = binary.AppendUvarint(b, uint64(len(batch.Absent)))
	last := int64(0)
	for _, id := range batch.Absent {
		b, last = binary.AppendVarint(b, id-last), id
	}
	b = binary.AppendUvarint(b, uint64(len(batch.Rows)))
	last = 0
	for _, row := range batch.Rows {
		if err := checkRow(fields, row); err != nil {
			return b, err
		}
		b, last = binary.AppendVarint(b, row.Key-last), row.Key
		for _, v := range row.Values {
			b = appendTagged(b, v)
		}
	}
	return append(b, compactMark...), nil
}

func appendTagged(b []byte, v table.Value) []byte {
	switch v.Kind() {
	case table.KindText:
		return appendString(append(b, tagText), v.Text())
	case table.KindInteger:
		return binary.AppendVarint(append(b, tagInteger), v.Integer())
	case table.KindDecimal:
		n, scale, small := v.Decimal()
		if !small {
			return appendString(append(b, tagWide), v.Text())
		}
		return binary.AppendVarint(append(b, tagDecimal, scale), n)
	case table.KindDate:
		return binary.AppendVarint(append(b, tagDate), v.Days())
	case table.KindTime:
		return binary.AppendVarint(append(b, tagTime), v.UnixMicro())
	case table.KindBool:
		if v.Bool() {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case table.KindZeroDate:
		return append(b, tagZeroDate)
	}
	return append(b, tagNull)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errCompact = errors.New("not a batch in its compact form, or cut short")

// compactReader reads a whole answer; all texts are parts of it. It trusts no
// length: what does not fit into the rest of the answer is an error.
type compactReader struct {
	rest string
	err  error
}

// readCompact reads the batch of at most limit ids.
func readCompact(r io.Reader, fields []reservation.Field, limit int) (batch reservation.Batch, err error) {
	buf := compactBuffers.Get().(*bytes.Buffer)
	defer compactBuffers.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(r); err != nil {
		return batch, err
	}
	c := &compactReader{rest: buf.String()}
	c.mark()
	if n := c.uvarint(); n != uint64(len(fields)) {
		return batch, errors.Join(c.err, fmt.Errorf("%w: %d fields for %d", errCompact, n, len(fields)))
	}
	batch.Absent = c.absent(limit)
	batch.Rows = c.rows(fields, limit)
	c.mark()
	if c.err == nil && c.rest != "" {
		c.fail()
	}
	return batch, c.err
}

func (c *compactReader) fail() {
	if c.err == nil {
		c.err = errCompact
	}
	c.rest = ""
}

func (c *compactReader) mark() {
	rest, ok := strings.CutPrefix(c.rest, compactMark)
	if !ok {
		c.fail()
		return
	}
	c.rest = rest
}

func (c *compactReader) tag() byte {
	if c.rest == "" {
		c.fail()
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

// uvarint reads what binary.AppendUvarint has written; there is no reader of it
// for a string.
func (c *compactReader) uvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := c.tag()
		n |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return n
		}
	}
	c.fail()
	return 0
}

func (c *compactReader) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (c *compactReader) text() string {
	n := c.uvarint()
	if n > uint64(len(c.rest)) {
		c.fail()
		return ""
	}
	s := c.rest[:n]
	c.rest = c.rest[n:]
	return s
}

func (c *compactReader) count(limit int) int {
	n := c.uvarint()
	if n > uint64(limit) || n > uint64(len(c.rest)) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *compactReader) absent(limit int) (ids []int64) {
	last := int64(0)
	for range c.count(limit) {
		last += c.varint()
		ids = append(ids, last)
	}
	return ids
}

func (c *compactReader) rows(fields []reservation.Field, limit int) []table.Row {
	n := c.count(limit)
	rows := make([]table.Row, n)
	values := make([]table.Value, n*len(fields))
	last := int64(0)
	for r := range rows {
		last += c.varint()
		rows[r] = table.Row{Key: last, Values: values[r*len(fields) : (r+1)*len(fields) : (r+1)*len(fields)]}
		for i := range fields {
			v := c.value()
			if !fits(fields[i].Type, v.Kind()) {
				c.fail()
			}
			rows[r].Values[i] = v
		}
		if c.err != nil {
			return nil
		}
	}
	return rows
}

func (c *compactReader) value() table.Value {
	switch c.tag() {
	case tagNull:
		return table.Null()
	case tagText:
		return table.TextOf(c.text())
	case tagInteger:
		return table.IntegerOf(c.varint())
	case tagDecimal:
		scale := c.tag()
		return table.DecimalOf(c.varint(), scale)
	case tagWide:
		if v, ok := table.ParseDecimal(c.text()); ok {
			return v
		}
	case tagDate:
		return table.DateOf(c.varint())
	case tagTime:
		return table.TimeOfMicro(c.varint())
	case tagFalse:
		return table.BoolOf(false)
	case tagTrue:
		return table.BoolOf(true)
	case tagZeroDate:
		return table.ZeroDate()
	}
	c.fail()
	return table.Null()
}
