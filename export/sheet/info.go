package sheet

import (
	"cmp"
	"fmt"
	"time"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// Widths of the info sheet's columns, in characters.
const (
	labelWidth = 28
	valueWidth = 48
	placeWidth = 20
)

// infoSheet writes the info sheet, row after row.
type infoSheet struct {
	f      *excelize.File
	name   string
	styles *styles
	loc    *time.Location
	row    int
}

// writeInfo adds the info sheet to f, as its last.
func (x *xlsx) writeInfo(f *excelize.File, st *styles, info Info) error {
	s := &infoSheet{f: f, name: x.names.next(info.Title, "Export info"), styles: st, loc: x.spec.Location}
	if _, err := f.NewSheet(s.name); err != nil {
		return fmt.Errorf("make the info sheet: %w", err)
	}
	for column, width := range map[string]float64{"A": labelWidth, "B": valueWidth, "C": placeWidth, "D": placeWidth} {
		if err := f.SetColWidth(s.name, column, column, width); err != nil {
			return fmt.Errorf("set the info sheet's widths: %w", err)
		}
	}
	for _, line := range info.Lines {
		if err := s.add(true, table.TextOf(line.Label), line.Value); err != nil {
			return err
		}
	}
	if err := x.writeLosses(s, info); err != nil {
		return err
	}
	// Some readers go by it and see no further (openpyxl in its read-only mode).
	if err := f.SetSheetDimension(s.name, fmt.Sprintf("A1:D%d", max(1, s.row))); err != nil {
		return fmt.Errorf("set the info sheet's size: %w", err)
	}
	return nil
}

// writeLosses lists what the cells lost: how often, and the first places.
func (x *xlsx) writeLosses(s *infoSheet, info Info) error {
	name := func(k LossKind) table.Value { return table.TextOf(cmp.Or(info.LossNames[k], string(k))) }
	for _, kind := range lossKinds {
		if n := info.Losses.Counts[kind]; n > 0 {
			if err := s.add(true, name(kind), table.IntegerOf(n)); err != nil {
				return err
			}
		}
	}
	if len(info.Losses.Places) == 0 {
		return nil
	}
	s.row++ // a blank line
	heads := [...]string{"Sheet", "Row", "Column", "What"}
	var head [len(heads)]table.Value
	for i := range heads {
		head[i] = table.TextOf(cmp.Or(info.LossTitles[i], heads[i]))
	}
	if err := s.add(true, head[:]...); err != nil {
		return err
	}
	if err := s.f.SetCellStyle(s.name, s.cell(1), s.cell(len(head)), s.styles.bold); err != nil {
		return fmt.Errorf("write the info sheet: %w", err)
	}
	for _, p := range info.Losses.Places {
		sheet := table.IntegerOf(int64(p.Sheet))
		if p.Sheet >= 1 && p.Sheet <= len(x.data) {
			sheet = table.TextOf(x.data[p.Sheet-1].name)
		}
		if err := s.add(false, sheet, table.IntegerOf(int64(p.Row)), table.TextOf(p.Column), name(p.Kind)); err != nil {
			return err
		}
	}
	return nil
}

// cell names a cell of the row written last.
func (s *infoSheet) cell(column int) string {
	name, _ := excelize.CoordinatesToCellName(column, s.row) // within the limits
	return name
}

// add writes a row; its first cell may be a bold label.
func (s *infoSheet) add(label bool, values ...table.Value) error {
	s.row++
	for i, v := range values {
		value, _ := cellOf(v, false, s.loc)
		if value == nil {
			continue
		}
		style := s.style(v)
		if label && i == 0 {
			style = s.styles.bold
		}
		if err := s.set(s.cell(i+1), value, style); err != nil {
			return fmt.Errorf("write the info sheet: %w", err)
		}
	}
	return nil
}

func (s *infoSheet) set(cell string, value any, style int) error {
	if err := s.f.SetCellStyle(s.name, cell, cell, style); err != nil {
		return err
	}
	if runs, ok := value.([]excelize.RichTextRun); ok {
		return s.f.SetCellRichText(s.name, cell, runs)
	}
	return s.f.SetCellValue(s.name, cell, value)
}

// style gives the style of a value: numbers without separators, dates and times.
func (s *infoSheet) style(v table.Value) int {
	switch v.Kind() {
	case table.KindInteger:
		return s.styles.byName["0"]
	case table.KindDate:
		return s.styles.byName[dateFormat]
	case table.KindTime:
		return s.styles.byName[timeFormat]
	}
	return 0
}
