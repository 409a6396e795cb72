package reservationhttp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-faster/jx"

	"rowmill/internal/table"
	"rowmill/reservation"
)

const (
	readBuffer = 64 << 10 // bytes of an answer held at a time
	arenaBlock = 32 << 10 // bytes of text that share an allocation
	valueBlock = 256      // rows whose values share an allocation
)

var decoders = sync.Pool{New: func() any { return jx.Decode(bytes.NewReader(nil), readBuffer) }}

// decode runs read over the one JSON value that r holds, and fails if anything
// follows it. The decoder is read's only until it returns.
func decode(r io.Reader, read func(d *jx.Decoder) error) error {
	d := decoders.Get().(*jx.Decoder)
	defer func() {
		d.Reset(bytes.NewReader(nil)) // let go of the body
		decoders.Put(d)
	}()
	d.Reset(r)
	if err := read(d); err != nil {
		return err
	}
	return expectEnd(d)
}

func expectEnd(d *jx.Decoder) error {
	switch err := d.Skip(); {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("something follows the JSON value")
	default:
		return fmt.Errorf("after the JSON value: %w", err)
	}
}

// page reads rows typed by the asked fields. It trusts no length: it holds at
// most max rows, whatever the other side sends.
type page struct {
	fields  []reservation.Field
	max     int
	rows    []table.Row
	values  []table.Value // the rest of the block
	last    []string      // the last text of each column; lists repeat themselves
	texts   arena
	scratch []byte
}

func newPage(fields []reservation.Field, limit int) *page {
	return &page{fields: fields, max: limit, last: make([]string, len(fields))}
}

// readRows reads the member "rows".
func (p *page) readRows(d *jx.Decoder) error {
	p.rows = make([]table.Row, 0, min(p.max, valueBlock))
	return d.Arr(func(d *jx.Decoder) error {
		if len(p.rows) == p.max {
			return fmt.Errorf("more than the %d rows asked", p.max)
		}
		row, err := p.readRow(d)
		p.rows = append(p.rows, row)
		return err
	})
}

func (p *page) readRow(d *jx.Decoder) (row table.Row, err error) {
	cells, err := d.ArrIter()
	if err != nil {
		return row, err
	}
	if !cells.Next() {
		return row, errors.Join(errors.New("a row without a key"), cells.Err())
	}
	if row.Key, err = d.Int64(); err != nil {
		return row, fmt.Errorf("key: %w", err)
	}
	width := len(p.fields)
	if len(p.values) < width {
		p.values = make([]table.Value, width*min(valueBlock, p.max-len(p.rows)))
	}
	row.Values, p.values = p.values[:width:width], p.values[width:]
	for i := range p.fields {
		if !cells.Next() {
			return row, errors.Join(fmt.Errorf("row %d has %d values for %d fields", row.Key, i, width), cells.Err())
		}
		if row.Values[i], err = p.readValue(d, i); err != nil {
			return row, fmt.Errorf("row %d, field %s: %w", row.Key, p.fields[i].Key, err)
		}
	}
	if cells.Next() {
		return row, fmt.Errorf("row %d has more values than the %d fields", row.Key, width)
	}
	return row, cells.Err()
}

func (p *page) readValue(d *jx.Decoder, i int) (v table.Value, err error) {
	is := d.Next()
	if is == jx.Null {
		return v, d.Null()
	}
	switch p.fields[i].Type {
	case table.Integer:
		n, err := d.Int64()
		return table.IntegerOf(n), err
	case table.Bool:
		b, err := d.Bool()
		return table.BoolOf(b), err
	case table.Text, table.Code:
		if is == jx.Object {
			err = p.readBase64(d)
		} else {
			p.scratch, err = d.StrAppend(p.scratch[:0])
		}
		if err != nil {
			return v, err
		}
		if string(p.scratch) != p.last[i] {
			p.last[i] = p.texts.hold(p.scratch)
		}
		return table.TextOf(p.last[i]), nil
	}
	if p.scratch, err = d.StrAppend(p.scratch[:0]); err != nil {
		return v, err
	}
	v, ok := p.parse(p.fields[i].Type)
	if !ok {
		return v, fmt.Errorf("not a %s", p.fields[i].Type)
	}
	return v, nil
}

// parse reads the scratch as a decimal, a date or a time.
func (p *page) parse(t table.Type) (v table.Value, ok bool) {
	switch t {
	case table.Decimal:
		return table.ParseDecimal(p.texts.hold(p.scratch))
	case table.Date, table.Time:
		if string(p.scratch) == zeroDate[1:len(zeroDate)-1] {
			return table.ZeroDate(), true
		}
	}
	if t == table.Date {
		days, ok := parseDay(p.scratch)
		return table.DateOf(days), ok
	}
	var at time.Time
	err := at.UnmarshalText(p.scratch)
	return table.TimeOf(at), err == nil
}

// readBase64 reads {"base64":"..."} into the scratch.
func (p *page) readBase64(d *jx.Decoder) error {
	members := 0
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		if members++; string(key) != "base64" || members > 1 {
			return errors.New("a text is a string or one base64 member")
		}
		text, err := d.Str()
		if err != nil {
			return err
		}
		p.scratch, err = base64.StdEncoding.AppendDecode(p.scratch[:0], []byte(text))
		return err
	})
	if err == nil && members == 0 {
		err = errors.New("a text is a string or one base64 member")
	}
	return err
}

// arena holds texts that live and die together in few allocations.
type arena struct{ block strings.Builder }

func (a *arena) hold(b []byte) string {
	if len(b) > arenaBlock/4 {
		return string(b)
	}
	start := a.block.Len()
	if start+len(b) > a.block.Cap() {
		a.block.Reset() // the old block lives on in its texts
		a.block.Grow(arenaBlock)
		start = 0
	}
	a.block.Write(b) // never past the capacity, so the texts before stay where they are
	return a.block.String()[start:]
}

// readTexts reads a list of strings.
func readTexts(d *jx.Decoder) (texts []string, err error) {
	err = d.Arr(func(d *jx.Decoder) error {
		s, err := d.Str()
		texts = append(texts, s)
		return err
	})
	return texts, err
}

// readIDs reads a list of up to limit whole numbers.
func readIDs(d *jx.Decoder, limit int) (ids []int64, err error) {
	err = d.Arr(func(d *jx.Decoder) error {
		if len(ids) == limit {
			return fmt.Errorf("more than %d ids", limit)
		}
		id, err := d.Int64()
		ids = append(ids, id)
		return err
	})
	return ids, err
}
