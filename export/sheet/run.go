package sheet

import (
	"fmt"
	"io"
	"strconv"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// run makes the XML of a run of rows. Contents that need no change are put into
// the forms of their columns; excelize writes the other cells, which are then put
// where they belong.
type run struct {
	*xlsx
	book   *book
	xml    []byte // without the cells that excelize writes
	odd    []odd
	number []byte // of the row at hand
}

// odd is a cell that excelize writes.
type odd struct {
	at          int // where in the run's XML it belongs
	row, column int
	value       any
}

func (x *xlsx) newRun() (*run, error) {
	b, err := newChunkBook(len(x.spec.Columns))
	return &run{xlsx: x, book: b}, err
}

// write makes the XML of the span's rows, with holes for the odd cells.
func (r *run) write(s Span, losses *Losses) error {
	r.xml, r.odd = r.xml[:0], r.odd[:0]
	for i := range s.Rows {
		row := &s.Rows[i]
		if len(row.Values) != len(r.spec.Columns) {
			return fmt.Errorf("row %d (key %d) has %d values, the file has %d columns", s.First+i, row.Key, len(row.Values), len(r.spec.Columns))
		}
		r.number = strconv.AppendInt(r.number[:0], int64(s.First+i), 10)
		r.xml = append(r.xml, `<row r="`...)
		r.xml = append(r.xml, r.number...)
		r.xml = append(r.xml, `">`...)
		for column := range row.Values {
			if row.Values[column].Kind() != table.KindNull {
				r.cell(s, i, column, losses)
			}
		}
		r.xml = append(r.xml, "</row>"...)
	}
	return nil
}

// cell adds a cell, or notes that excelize is to write it.
func (r *run) cell(s Span, row, column int, losses *Losses) {
	v, number := s.Rows[row].Values[column], s.First+row
	text := r.spec.Columns[column].text()
	h := r.forms[column].of(v.Kind())
	xml := append(r.xml, cellOpen...)
	xml = append(xml, r.forms[column].column...)
	xml = append(xml, r.number...)
	xml = append(xml, h.before...)
	if xml, ok := appendContent(xml, v, text, r.spec.Location); ok {
		r.xml = append(xml, h.after...)
		return
	}
	value, lost := cellOf(v, text, r.spec.Location)
	if lost != 0 {
		lost.add(losses, s.Sheet, number, r.spec.Columns[column].Title, s.Rows[row].Key)
	}
	if value != nil {
		r.odd = append(r.odd, odd{at: len(r.xml), row: number, column: column, value: value})
	}
}

// copyTo has excelize write the odd cells and copies the whole to w.
func (r *run) copyTo(w io.Writer) error {
	if len(r.odd) > 0 {
		if err := r.book.rows(r.setRows); err != nil {
			return err
		}
	}
	from, made := 0, cells{r.book.xml.Bytes()}
	for _, o := range r.odd {
		cell, err := made.next(r.forms[o.column].column, o.row)
		if err != nil {
			return err
		}
		if _, err := w.Write(r.xml[from:o.at]); err != nil {
			return err
		}
		if _, err := w.Write(cell); err != nil {
			return err
		}
		from = o.at
	}
	_, err := w.Write(r.xml[from:])
	return err
}

// setRows gives excelize the rows that have odd cells, with those alone.
func (r *run) setRows(sw *excelize.StreamWriter) error {
	for rest := r.odd; len(rest) > 0; {
		row := rest[0].row
		clear(r.book.row)
		for len(rest) > 0 && rest[0].row == row {
			r.book.set(rest[0].column, r.styles.columns[rest[0].column], rest[0].value)
			rest = rest[1:]
		}
		if err := sw.SetRow("A"+strconv.Itoa(row), r.book.row); err != nil {
			return err
		}
	}
	return nil
}
