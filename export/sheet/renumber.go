package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
)

// renumberer copies rows of a chunk with other row numbers, block by block.
type renumberer struct {
	inflater io.ReadCloser
	in, out  []byte

	move       Move
	to         io.Writer
	row        int    // of the chunk that was met last, counted from 0
	was, is    []byte // its number in the chunk and at its place
	keep       bool   // it is moved
	incomplete int    // bytes at the end of in that belong to what follows
}

const renumberBlock = 64 << 10 // far more than the longest tag

var renumberers = sync.Pool{New: func() any {
	return &renumberer{
		inflater: flate.NewReader(strings.NewReader("")),
		in:       make([]byte, renumberBlock),
		out:      make([]byte, 0, 2*renumberBlock),
	}
}}

// renumber writes the XML of the rows that are moved, with their real numbers. It
// fails for a chunk that is not what its sums say, or no rows.
func (m Move) renumber(w io.Writer) error {
	r := renumberers.Get().(*renumberer)
	r.move, r.to, r.row, r.keep, r.incomplete = m, w, -1, false, 0
	if err := r.copy(); err != nil {
		return err
	}
	r.move, r.to = Move{}, nil
	renumberers.Put(r)
	return nil
}

func (r *renumberer) copy() error {
	packed := io.MultiReader(bytes.NewReader(r.move.chunk.Data), strings.NewReader(finalBlock))
	if err := r.inflater.(flate.Resetter).Reset(packed, nil); err != nil {
		return fmt.Errorf("inflate: %w", err)
	}
	raw, crc := int64(0), uint32(0)
	for {
		n, err := io.ReadFull(r.inflater, r.in[r.incomplete:])
		crc = crc32.Update(crc, crc32.IEEETable, r.in[r.incomplete:r.incomplete+n])
		if raw += int64(n); raw > r.move.chunk.Raw {
			return errors.New("the chunk has more bytes than it says")
		}
		if err := r.block(r.in[:r.incomplete+n]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return r.end(raw, crc)
		case err != nil:
			return fmt.Errorf("inflate: %w", err)
		case r.incomplete == len(r.in):
			return errors.New("a tag is longer than any of a row")
		}
	}
}

// end checks that the chunk was whole.
func (r *renumberer) end(raw int64, crc uint32) error {
	switch c := &r.move.chunk; {
	case raw != c.Raw || crc != c.CRC:
		return errors.New("the chunk's bytes are not those of its sums")
	case r.incomplete > 0:
		return errors.New("the chunk ends within a tag")
	case r.row != c.Rows-1:
		return fmt.Errorf("the chunk has %d rows and says %d", r.row+1, c.Rows)
	}
	return nil
}

const (
	rowTag  = "<row "
	cellTag = "<c "
)

// block writes what is to be kept of b, and leaves a tag that has no end in it at
// the start of in. No text has a "<" (XML 1.0, 2.4): each one opens a tag.
func (r *renumberer) block(b []byte) error {
	r.out = r.out[:0]
	r.incomplete = 0
	done, at := 0, 0 // bytes dealt with, and looked at
	for {
		next := bytes.IndexByte(b[at:], '<')
		if next < 0 {
			r.emit(b[done:])
			break
		}
		at += next
		tag := b[at:]
		isRow := bytes.HasPrefix(tag, []byte(rowTag))
		if !isRow && !bytes.HasPrefix(tag, []byte(cellTag)) {
			if len(tag) >= len(rowTag) {
				at++
				continue
			}
		} else if end := bytes.IndexByte(tag, '>'); end >= 0 {
			r.emit(b[done:at])
			if err := r.tag(tag[:end+1], isRow); err != nil {
				return err
			}
			at += end + 1
			done = at
			continue
		}
		r.emit(b[done:at])
		r.incomplete = len(tag)
		break
	}
	if _, err := r.to.Write(r.out); err != nil {
		return err
	}
	copy(r.in, b[len(b)-r.incomplete:])
	return nil
}

// emit adds b to what is written if it belongs to a row that is moved.
func (r *renumberer) emit(b []byte) {
	if r.keep {
		r.out = append(r.out, b...)
	}
}

// tag adds a tag that has a row's number in it.
func (r *renumberer) tag(tag []byte, isRow bool) error {
	if isRow {
		r.row++
		m := &r.move
		r.keep = r.row >= m.from && r.row < m.to
		r.was = strconv.AppendInt(r.was[:0], int64(m.chunk.First+r.row), 10)
		r.is = strconv.AppendInt(r.is[:0], int64(m.first+r.row-m.from), 10)
	}
	if !r.keep {
		return nil
	}
	from, to, ok := reference(tag)
	if !ok {
		return fmt.Errorf("a tag without a reference: %.100q", tag)
	}
	for from < to && tag[from] >= 'A' && tag[from] <= 'Z' { // a cell's column
		from++
	}
	if !bytes.Equal(tag[from:to], r.was) {
		return fmt.Errorf("a tag of another row than %s: %.100q", r.was, tag)
	}
	r.out = append(r.out, tag[:from]...)
	r.out = append(r.out, r.is...)
	r.out = append(r.out, tag[to:]...)
	return nil
}

// reference finds the value of a tag's attribute r.
func reference(tag []byte) (from, to int, ok bool) {
	at := bytes.IndexByte(tag, ' ')
	for at >= 0 && at < len(tag) && tag[at] == ' ' {
		at++
		equals := bytes.Index(tag[at:], []byte(`="`))
		if equals < 0 {
			break
		}
		from = at + equals + len(`="`)
		length := bytes.IndexByte(tag[from:], '"')
		if length < 0 {
			break
		}
		if to = from + length; string(tag[at:at+equals]) == "r" {
			return from, to, true
		}
		at = to + 1
	}
	return 0, 0, false
}
