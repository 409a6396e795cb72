package sheet

import (
	"bytes"
	"errors"
	"fmt"
)

// sheetScan reads a data sheet's XML as it comes, in blocks cut anywhere. It
// checks that tags are closed as they were opened, that the rows are 1, 2, 3 …
// without a gap, and that each cell stands in its row, right of the one before.
type sheetScan struct {
	cut    []byte   // a tag whose end is in the next block
	open   [][]byte // names of the open elements; past depth kept for their memory
	depth  int
	closed bool // the root has been
	rows   int64
	number []byte // of the current row
	column int    // of the last cell in it
}

// maxTag bounds a tag; a sheet's longest, the root with its namespaces, has 6 KiB.
const maxTag = 64 << 10

func (s *sheetScan) add(p []byte) error {
	if len(s.cut) > 0 {
		end := bytes.IndexByte(p, '>')
		s.cut = append(s.cut, p[:end+1]...)
		if end < 0 {
			s.cut = append(s.cut, p...)
			return s.tooLong()
		}
		if err := s.tag(s.cut); err != nil {
			return err
		}
		s.cut, p = s.cut[:0], p[end+1:]
	}
	for {
		start := bytes.IndexByte(p, '<')
		if s.depth == 0 && len(bytes.TrimSpace(p[:max(start, 0)])) > 0 || start < 0 && s.depth == 0 && len(bytes.TrimSpace(p)) > 0 {
			return errors.New("text stands outside the sheet's XML")
		}
		if start < 0 {
			return nil
		}
		end := bytes.IndexByte(p[start:], '>')
		if end < 0 {
			s.cut = append(s.cut, p[start:]...)
			return s.tooLong()
		}
		if err := s.tag(p[start : start+end+1]); err != nil {
			return err
		}
		p = p[start+end+1:]
	}
}

func (s *sheetScan) tooLong() error {
	if len(s.cut) > maxTag {
		return errors.New("a tag does not end")
	}
	return nil
}

// tag reads one tag, from < to >.
func (s *sheetScan) tag(t []byte) error {
	inner := t[1 : len(t)-1]
	switch {
	case len(inner) == 0:
		return errors.New("a tag has no name")
	case inner[0] == '?':
		return nil
	case inner[0] == '/':
		return s.close(inner[1:])
	}
	name := inner
	if i := bytes.IndexAny(inner, " /"); i >= 0 {
		name = inner[:i]
	}
	if err := s.element(name, inner[len(name):]); err != nil {
		return err
	}
	if inner[len(inner)-1] == '/' {
		return s.close(name)
	}
	return nil
}

// element opens an element.
func (s *sheetScan) element(name, attributes []byte) error {
	if s.closed || s.depth == 0 && string(name) != "worksheet" {
		return fmt.Errorf("element %s stands outside the sheet", name)
	}
	switch {
	case string(name) == "c" && s.inside("row"):
		if err := s.cell(attribute(attributes)); err != nil {
			return err
		}
	case string(name) == "row" && s.inside("sheetData"):
		if err := s.row(attribute(attributes)); err != nil {
			return err
		}
	}
	if s.depth == len(s.open) {
		s.open = append(s.open, nil)
	}
	s.open[s.depth] = append(s.open[s.depth][:0], name...)
	s.depth++
	return nil
}

func (s *sheetScan) inside(name string) bool { return s.depth > 0 && string(s.open[s.depth-1]) == name }

func (s *sheetScan) close(name []byte) error {
	if s.depth == 0 || !bytes.Equal(s.open[s.depth-1], name) {
		return fmt.Errorf("after row %d: </%s> closes nothing", s.rows, name)
	}
	s.depth--
	s.closed = s.depth == 0
	return nil
}

// attribute gives the value of r, a row's number or a cell's place.
func attribute(attributes []byte) []byte {
	_, value, found := bytes.Cut(attributes, []byte(` r="`))
	if !found {
		return nil
	}
	return value[:max(0, bytes.IndexByte(value, '"'))]
}

func (s *sheetScan) row(number []byte) error {
	var n int64
	for _, c := range number {
		if c < '0' || c > '9' || n > maxRows {
			return fmt.Errorf("%q is no row number", number)
		}
		n = n*10 + int64(c-'0')
	}
	switch {
	case n > s.rows+1:
		return fmt.Errorf("row %d is missing", s.rows+1)
	case n <= s.rows:
		return fmt.Errorf("row %d comes after row %d", n, s.rows)
	case n > maxRows:
		return fmt.Errorf("row %d is past the last that a sheet may have, %d", n, maxRows)
	}
	s.rows = n
	s.number = append(s.number[:0], number...)
	s.column = 0
	return nil
}

const maxRows = MaxDataRows + 1 // with the header

func (s *sheetScan) cell(place []byte) error {
	column, i := 0, 0
	for ; i < len(place) && place[i] >= 'A' && place[i] <= 'Z' && column <= MaxColumns; i++ {
		column = column*26 + int(place[i]-'A') + 1
	}
	if !bytes.Equal(place[i:], s.number) || column <= s.column || column > MaxColumns {
		return fmt.Errorf("cell %q is out of place in row %d", place, s.rows)
	}
	s.column = column
	return nil
}

// end checks that the sheet is whole and gives its rows without the header.
func (s *sheetScan) end() (int64, error) {
	switch {
	case !s.closed || len(s.cut) > 0:
		return 0, fmt.Errorf("the sheet breaks off after row %d", s.rows)
	case s.rows == 0:
		return 0, errors.New("the header is missing")
	}
	return s.rows - 1, nil
}
