package reservationhttp

import (
	"bytes"
	"encoding/binary"
	"errors"

	"rowmill/export"
)

// packer packs a stream of ids into page tokens as it comes: the first id of a
// page and then the differences, as zigzag varints. Ids that ascend by a little
// take one byte each, ids in random order about three.
type packer struct {
	size  int // ids a page
	pages []export.PageToken
	buf   []byte
	rows  int
	last  int64
}

func (p *packer) add(id int64) {
	p.buf = binary.AppendVarint(p.buf, id-p.last) // wraps around, and back when unpacked
	p.last = id
	if p.rows++; p.rows == p.size {
		p.cut()
	}
}

// cut ends the page.
func (p *packer) cut() {
	if p.rows > 0 {
		p.pages = append(p.pages, export.PageToken{Rows: p.rows, Token: bytes.Clone(p.buf)})
	}
	p.buf, p.rows, p.last = p.buf[:0], 0, 0
}

var errToken = errors.New("not a page token of this source")

// unpack gives a token's ids.
func unpack(t export.PageToken) ([]int64, error) {
	if t.Rows < 1 || t.Rows > len(t.Token) { // an id takes a byte at least
		return nil, errToken
	}
	ids := make([]int64, 0, t.Rows)
	last, rest := int64(0), t.Token
	for range t.Rows {
		delta, n := binary.Varint(rest)
		if n <= 0 {
			return nil, errToken
		}
		last += delta
		rest = rest[n:]
		ids = append(ids, last)
	}
	if len(rest) > 0 {
		return nil, errToken
	}
	return ids, nil
}
