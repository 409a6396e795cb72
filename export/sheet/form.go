package sheet

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// form is how excelize writes the cells of a column: what stands before and after
// the content, from behind the reference on. Most cells differ in their content
// alone, and putting it into the form costs a tenth of another pass through SetRow.
type form struct {
	column       string // its letters
	text, number hull
}

type hull struct{ before, after string }

// Contents that stand for any other: excelize escapes nothing of them.
const (
	sampleText   = "x"
	sampleNumber = 7
)

// newForms has excelize write a cell of text and one with a number in each column
// and takes them apart.
func newForms(columns []Column, styles *styles) ([]form, error) {
	b, err := newChunkBook(len(columns))
	if err != nil {
		return nil, err
	}
	err = b.rows(func(sw *excelize.StreamWriter) error {
		for number, sample := range []any{sampleText, sampleNumber} {
			for i := range columns {
				b.set(i, styles.columns[i], sample)
			}
			if err := sw.SetRow("A"+strconv.Itoa(number+1), b.row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write sample rows: %w", err)
	}
	forms, made := make([]form, len(columns)), cells{b.xml.Bytes()}
	for i := range forms {
		if forms[i].column, err = excelize.ColumnNumberToName(i + 1); err != nil {
			return nil, fmt.Errorf("name column %d: %w", i+1, err)
		}
		if forms[i].text, err = made.hull(forms[i].column, 1, ">"+sampleText+"<"); err != nil {
			return nil, err
		}
	}
	for i := range forms {
		if forms[i].number, err = made.hull(forms[i].column, 2, ">"+strconv.Itoa(sampleNumber)+"<"); err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// cells are the cells that follow in rows that excelize wrote.
type cells struct{ xml []byte }

const (
	cellOpen  = `<c r="`
	cellClose = "</c>"
)

// next gives the cell that follows, which must be the one of the row and column.
func (c *cells) next(column string, row int) ([]byte, error) {
	_, rest, found := bytes.Cut(c.xml, []byte(cellOpen))
	end := bytes.Index(rest, []byte(cellClose))
	if found && end >= 0 {
		cell := c.xml[len(c.xml)-len(rest)-len(cellOpen):][:len(cellOpen)+end+len(cellClose)]
		c.xml = rest[end+len(cellClose):]
		ref, _, _ := bytes.Cut(cell[len(cellOpen):], []byte(`"`))
		number, ok := bytes.CutPrefix(ref, []byte(column))
		if ok && string(number) == strconv.Itoa(row) {
			return cell, nil
		}
	}
	return nil, fmt.Errorf("excelize wrote other cells than it was given: %s%d is missing", column, row)
}

// hull cuts the cell that follows around its content, which stands in marked.
func (c *cells) hull(column string, row int, marked string) (hull, error) {
	cell, err := c.next(column, row)
	if err != nil {
		return hull{}, err
	}
	before, after, found := strings.Cut(string(cell[len(cellOpen)+len(column)+len(strconv.Itoa(row)):]), marked)
	if !found {
		return hull{}, fmt.Errorf("excelize wrote a sample otherwise than it was given: %s", cell)
	}
	return hull{before + marked[:1], marked[len(marked)-1:] + after}, nil
}

// of gives the hull of the values of a kind.
func (f *form) of(k table.Kind) *hull {
	if k == table.KindText {
		return &f.text
	}
	return &f.number
}

// appendContent appends what the cell of v has in its hull. ok is false for a
// value whose cell excelize has to write: text that it escapes or changes, a
// value that is no plain cell of the column's type, a bool.
func appendContent(b []byte, v table.Value, text bool, loc *time.Location) (grown []byte, ok bool) {
	if v.Kind() == table.KindText {
		return append(b, v.Text()...), verbatim(v.Text())
	}
	if text {
		return b, false
	}
	var n int64
	var x float64
	start := len(b)
	switch v.Kind() {
	case table.KindInteger:
		n, ok = integer(v.Integer())
		return strconv.AppendInt(b, n, 10), ok
	case table.KindDate:
		n, ok = dateSerial(v.Days())
		return strconv.AppendInt(b, n, 10), ok
	case table.KindDecimal:
		x, ok = decimal(v)
	case table.KindTime:
		x, ok = timeSerial(v.UnixMicro(), loc)
	}
	b = strconv.AppendFloat(b, x, 'f', -1, 64)
	return b, ok && len(b)-start <= maxDigits+1 // excelize cuts numbers of more digits
}

// verbatim reports whether text stands in a cell's XML as it is: nothing of it is
// escaped, replaced or cut, and no space at an end has to be preserved.
func verbatim(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > MaxCellText || s[0] <= ' ' || s[len(s)-1] <= ' ' {
		return false
	}
	high := byte(0)
	for i := range len(s) {
		c := s[i]
		if changes[c] {
			return false
		}
		high |= c
	}
	return (high < utf8.RuneSelf || utf8.ValidString(s)) && !strings.Contains(s, "_x")
}

// changes are the bytes that are, or may begin, a character that does not stay as
// it is: 0xEF begins U+FFFE.
var changes = func() (is [256]bool) {
	for c := range ' ' {
		is[c] = c != '\n'
	}
	for _, c := range []byte("\"'&<>\xEF") {
		is[c] = true
	}
	return is
}()
