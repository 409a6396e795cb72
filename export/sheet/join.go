package sheet

import (
	"errors"
	"fmt"
	"maps"
)

// Joiner takes drafted chunks into a file. The encoders that New returns are
// Joiners, and the file is byte for byte what they make of the same pages by
// Place and Encode; both ways can be mixed, in the order of the rows.
type Joiner interface {
	// PlaceChunk gives a drafted chunk's rows their places, in order, from one
	// goroutine (that of Place): one move, more where a sheet ends among the rows,
	// none where there is no row.
	PlaceChunk(c Chunk) []Move
	// Move gives the chunk that Append takes: the bytes as they are if the draft's
	// guess was right, else the same rows with their real numbers. It is safe for
	// concurrent use, and needs memory for the chunk it gives and a few blocks. Its
	// errors end the file as those of Encode do.
	Move(m Move) (Chunk, error)
}

// Move is a drafted chunk, or a part of one, with its real place.
type Move struct {
	chunk        Chunk
	from, to     int // the rows of the chunk that go there, counted from 0
	sheet, first int // as in a span
	err          error
}

// whole reports that all of the chunk's rows go to one sheet.
func (m Move) whole() bool { return m.from == 0 && m.to == m.chunk.Rows }

func (x *xlsx) PlaceChunk(c Chunk) []Move {
	if c.Rows == 0 {
		return nil
	}
	if len(c.Bounds) != c.Rows {
		return []Move{{err: fmt.Errorf("a chunk of %d rows has the bounds of %d: no draft made it", c.Rows, len(c.Bounds))}}
	}
	return x.placer.placeChunk(c)
}

// placeChunk cuts a chunk as place cuts its rows.
func (p *placer) placeChunk(c Chunk) []Move {
	var moves []Move
	from := 0
	for i, bound := range c.Bounds {
		if p.full(bound) {
			moves = p.move(moves, c, from, i)
			from = i
			p.turn()
		}
		p.add(bound)
	}
	return p.move(moves, c, from, c.Rows)
}

// move adds a move of the chunk's rows that were placed last.
func (p *placer) move(moves []Move, c Chunk, from, to int) []Move {
	if from == to {
		return moves
	}
	return append(moves, Move{chunk: c, from: from, to: to, sheet: p.sheet, first: firstRow + p.rows - (to - from)})
}

func (x *xlsx) Move(m Move) (Chunk, error) {
	if err := x.failed(); err != nil {
		return Chunk{}, err
	}
	c, err := m.made()
	if err != nil {
		return Chunk{}, x.fail(fmt.Errorf("move rows %d to %d of sheet %d: %w", m.first, m.first+m.to-m.from-1, m.sheet+1, err))
	}
	return c, nil
}

// made gives the chunk at its place.
func (m Move) made() (Chunk, error) {
	if m.err != nil {
		return Chunk{}, m.err
	}
	c := m.chunk
	c.Sheet, c.First, c.Rows, c.Losses, c.Bounds = m.sheet, m.first, m.to-m.from, m.losses(), nil
	if m.whole() && m.first == m.chunk.First {
		return c, nil
	}
	d := newDeflater()
	if err := m.renumber(d); err != nil {
		return Chunk{}, err
	}
	var err error
	c.Data, c.Raw, c.CRC, err = d.part()
	return c, err
}

// losses gives those of the rows that are moved, with their real places. Where a
// chunk that is cut has more than it lists, the unlisted count with its last rows:
// merged, the parts have the counts and the places of the whole.
func (m Move) losses() Losses {
	all := m.chunk.Losses
	if len(all.Counts) == 0 {
		return Losses{}
	}
	var moved Losses
	before := map[LossKind]int64{}
	for _, l := range all.Places {
		switch i := l.Row - m.chunk.First; {
		case i < m.from:
			before[l.Kind]++
		case i < m.to:
			l.Sheet, l.Row = m.sheet+1, m.first+i-m.from
			moved.Add(l)
		}
	}
	if m.to < m.chunk.Rows {
		return moved
	}
	moved.Counts = maps.Clone(all.Counts)
	for kind, n := range before {
		if moved.Counts[kind] -= n; moved.Counts[kind] == 0 {
			delete(moved.Counts, kind)
		}
	}
	if len(moved.Counts) == 0 {
		return Losses{}
	}
	return moved
}

func (c *csvFile) PlaceChunk(chunk Chunk) []Move {
	if chunk.Rows == 0 {
		return nil
	}
	m := Move{chunk: chunk, to: chunk.Rows, first: c.next}
	if len(chunk.Bounds) > 0 {
		m.err = errors.New("a chunk of an xlsx file came to a CSV file")
	}
	c.next += chunk.Rows
	return []Move{m}
}

func (c *csvFile) Move(m Move) (Chunk, error) {
	if err := c.failed(); err != nil {
		return Chunk{}, err
	}
	if m.err != nil {
		return Chunk{}, c.fail(m.err)
	}
	chunk := m.chunk
	chunk.Sheet, chunk.First, chunk.Losses, chunk.Bounds = m.sheet, m.first, m.losses(), nil
	return chunk, nil
}
