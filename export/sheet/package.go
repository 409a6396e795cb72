package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xuri/excelize/v2"
)

// sheetHead gives a data sheet's XML up to the end of its header row, and the
// styles that its cells may name.
func sheetHead(columns []Column, first bool) ([]byte, *styles, error) {
	b, err := newBook(len(columns), first)
	if err != nil {
		return nil, nil, err
	}
	st, err := newStyles(b.f, columns)
	if err != nil {
		return nil, nil, err
	}
	var xml bytes.Buffer
	err = b.stream(&xml, func(sw *excelize.StreamWriter) error {
		frozen := &excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}
		if err := sw.SetPanes(frozen); err != nil {
			return fmt.Errorf("freeze the header: %w", err)
		}
		for i, c := range columns {
			title, _ := textCell(c.Title)
			b.row[i] = excelize.Cell{StyleID: st.bold, Value: title}
			if c.Width == 0 {
				continue
			}
			if err := sw.SetColWidth(i+1, i+1, c.Width); err != nil {
				return fmt.Errorf("set a column's width: %w", err)
			}
		}
		return sw.SetRow("A1", b.row)
	})
	if err != nil {
		return nil, nil, err
	}
	_, tail, err := aroundRows(xml.Bytes())
	return bytes.TrimSuffix(xml.Bytes(), tail), st, err
}

// sheetTail gives a data sheet's XML after its rows, with the filter over them.
func sheetTail(filter string) ([]byte, error) {
	b, err := newBook(1, true)
	if err != nil {
		return nil, err
	}
	if err := b.f.AutoFilter(b.sheet, filter, nil); err != nil {
		return nil, fmt.Errorf("set the filter: %w", err)
	}
	var xml bytes.Buffer
	if err := b.stream(&xml, func(*excelize.StreamWriter) error { return nil }); err != nil {
		return nil, err
	}
	_, tail, err := aroundRows(xml.Bytes())
	return tail, err
}

// filterRange gives the cells of a sheet's header and rows, as A1:T100001.
func (x *xlsx) filterRange(s dataSheet) string {
	last, _ := excelize.CoordinatesToCellName(len(x.spec.Columns), s.rows+1) // within the limits
	return "A1:" + last
}

// writePackage writes every part of the file but the data sheets, which a
// workbook with as many empty sheets stands in for.
func (x *xlsx) writePackage(info Info) (err error) {
	f := excelize.NewFile()
	defer func() { err = errors.Join(err, f.Close()) }()
	for i, s := range x.data {
		if i == 0 {
			err = f.SetSheetName(bookSheet, s.name)
		} else {
			_, err = f.NewSheet(s.name)
		}
		if err != nil {
			return fmt.Errorf("make sheet %q: %w", s.name, err)
		}
		if err := f.AutoFilter(s.name, x.filterRange(s), nil); err != nil {
			return fmt.Errorf("set the filter of sheet %q: %w", s.name, err)
		}
	}
	st, err := newStyles(f, x.spec.Columns)
	if err != nil {
		return err
	}
	at := info.At
	if at.IsZero() {
		at = time.Now()
	}
	made := at.UTC().Format(time.RFC3339)
	properties := &excelize.DocProperties{Creator: "Rowmill", Title: x.data[0].name, Created: made, Modified: made}
	if err := f.SetDocProps(properties); err != nil {
		return fmt.Errorf("set the document's properties: %w", err)
	}
	if err := x.writeInfo(f, st, info); err != nil {
		return err
	}
	return x.writeParts(f)
}

// writeParts writes f's parts, of which the data sheets must stand in the file already.
func (x *xlsx) writeParts(f *excelize.File) error {
	written := map[string]bool{}
	for i := range x.data {
		written[fmt.Sprintf(sheetPath, i+1)] = true
	}
	var failed error
	skipped := 0
	p := &parts{to: func(name string) io.Writer {
		if written[name] {
			skipped++
			return io.Discard
		}
		w, err := x.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			failed = errors.Join(failed, err)
			return io.Discard
		}
		return w
	}}
	if err := errors.Join(p.write(f), failed); err != nil {
		return err
	}
	if skipped != len(written) {
		return fmt.Errorf("excelize named %d of %d data sheets otherwise", len(written)-skipped, len(written))
	}
	return nil
}
