package sheet

import (
	"fmt"
	"io"

	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// Draft encodes rows whose place in the file is a guess: as if a given number of
// rows stood before them, on sheets that are cut by Spec.MaxRows alone. What the
// guess gets wrong costs a Joiner's Move time, and changes nothing in the file.
type Draft interface {
	// Place gives a page of rows its guessed place, in order, from one goroutine.
	// It never cuts a page: only the joining file knows where a sheet ends. A page
	// without a row has no span.
	Place(rows []table.Row) []Span
	// Encode encodes a span of at most MaxDataRows rows. It is safe for concurrent
	// use. After an error every later call fails too.
	Encode(s Span) (Chunk, error)
}

// NewDraft returns a draft of rows that follow after others. The spec must be that
// of the file that is to take them. One that no file can follow, and a negative
// after, are Invalid faults.
func NewDraft(spec Spec, after int64) (Draft, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, fault.New(fault.Invalid, "a draft follows 0 rows or more, not %d", after)
	}
	spec = spec.complete()
	if spec.Format == CSV {
		c := newCSV(io.Discard, spec)
		c.next += int(after)
		return c, nil
	}
	x, err := newXLSX(io.Discard, spec)
	if err != nil {
		return nil, err
	}
	return &xlsxDraft{xlsx: x, after: after}, nil
}

// xlsxDraft is a draft of an xlsx file. That of a CSV file is its encoder: no
// record has its number in its bytes.
type xlsxDraft struct {
	xlsx  *xlsx
	after int64 // rows before the next page
}

func (d *xlsxDraft) Place(rows []table.Row) []Span {
	if len(rows) == 0 {
		return nil
	}
	sheet, row := d.after/int64(d.xlsx.spec.MaxRows), d.after%int64(d.xlsx.spec.MaxRows)
	if row > 0 && row+int64(len(rows)) > int64(d.xlsx.spec.MaxRows) {
		// The page will be cut, and renumbered then. Counted on, its numbers could
		// pass the last that a sheet has.
		sheet, row = sheet+1, 0
	}
	d.after += int64(len(rows))
	return []Span{{Sheet: int(sheet), First: firstRow + int(row), Rows: rows}}
}

func (d *xlsxDraft) Encode(s Span) (Chunk, error) {
	if len(s.Rows) > MaxDataRows {
		return Chunk{}, d.xlsx.fail(fmt.Errorf("a draft takes at most %d rows at once, not %d", MaxDataRows, len(s.Rows)))
	}
	c, err := d.xlsx.Encode(s)
	if err != nil {
		return Chunk{}, err
	}
	c.Bounds = make([]int64, len(s.Rows))
	for i := range s.Rows {
		c.Bounds[i] = d.xlsx.placer.bound(&s.Rows[i])
	}
	return c, nil
}
