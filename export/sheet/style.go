package sheet

import (
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// numberFormat gives a column's number format; "" is the general one.
func (c Column) numberFormat() string {
	if c.Format != "" {
		return c.Format
	}
	switch c.Type {
	case table.Code:
		return "@" // typing in the cell leaves it text
	case table.Integer:
		return "0"
	case table.Decimal:
		if c.Scale > 0 {
			return "#,##0." + strings.Repeat("0", int(c.Scale))
		}
		return "#,##0"
	case table.Date:
		return dateFormat
	case table.Time:
		return timeFormat
	}
	return ""
}

const (
	dateFormat = "yyyy-mm-dd"
	timeFormat = "yyyy-mm-dd hh:mm:ss"
)

// text reports whether each of the column's cells is a string cell.
func (c Column) text() bool { return c.Type == table.Text || c.Type == table.Code }

// styles are the numbers of a workbook's styles: one per distinct number format,
// so that no count of rows or columns can exhaust them.
type styles struct {
	bold    int
	columns []int
	byName  map[string]int
}

// newStyles makes the styles in f, always in the same order: in every workbook of
// a file each has the same number.
func newStyles(f *excelize.File, columns []Column) (*styles, error) {
	s := &styles{columns: make([]int, len(columns)), byName: map[string]int{"": 0}}
	var err error
	if s.bold, err = f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}}); err != nil {
		return nil, fmt.Errorf("make the header's style: %w", err)
	}
	for _, format := range []string{dateFormat, timeFormat, "0"} { // the info sheet's
		if _, err := s.number(f, format); err != nil {
			return nil, err
		}
	}
	for i, c := range columns {
		if s.columns[i], err = s.number(f, c.numberFormat()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *styles) number(f *excelize.File, format string) (int, error) {
	if id, ok := s.byName[format]; ok {
		return id, nil
	}
	id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
	if err != nil {
		return 0, fmt.Errorf("make the style of number format %q: %w", format, err)
	}
	s.byName[format] = id
	return id, nil
}
