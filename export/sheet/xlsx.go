package sheet

import (
	"archive/zip"
	"fmt"
	"io"
	"sync"

	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// xlsx is the encoder of xlsx files.
type xlsx struct {
	spec   Spec
	styles *styles
	placer *placer
	forms  []form
	runs   sync.Pool // of *run

	zip   *zip.Writer
	sheet *entry
	names names
	data  []dataSheet // appended so far; the last is open
	sticky
}

// dataSheet is a sheet of the file.
type dataSheet struct {
	name string
	rows int
}

// reserved is what a sheet's XML may need besides its head and its rows.
const reserved = 64 << 10

func newXLSX(w io.Writer, spec Spec) (*xlsx, error) {
	x := &xlsx{spec: spec, zip: zip.NewWriter(w)}
	head, styles, err := sheetHead(spec.Columns, true)
	if err != nil {
		// The columns are all that can be wrong here.
		return nil, fault.Wrap(err, fault.Invalid, "the columns cannot be written as xlsx")
	}
	x.styles = styles
	if x.forms, err = newForms(spec.Columns, styles); err != nil {
		return nil, err
	}
	x.placer = newPlacer(spec.MaxRows, max(1, spec.MaxXML-int64(len(head))-reserved))
	return x, nil
}

func (x *xlsx) Place(rows []table.Row) []Span { return x.placer.place(rows) }

// runBytes bounds the XML that one pass through a workbook makes: excelize starts
// a temporary file past 16 MiB, and small buffers keep the memory small.
const runBytes = 2 << 20

func (x *xlsx) Encode(s Span) (Chunk, error) {
	if err := x.failed(); err != nil {
		return Chunk{}, err
	}
	c := Chunk{Sheet: s.Sheet, First: s.First, Rows: len(s.Rows)}
	d := newDeflater()
	for from := 0; from < len(s.Rows); {
		to, size := from, int64(0)
		for to < len(s.Rows) && (to == from || size < runBytes) {
			size += roughBound(&s.Rows[to])
			to++
		}
		if err := x.encodeRun(d, Span{Sheet: s.Sheet, First: s.First + from, Rows: s.Rows[from:to]}, &c.Losses); err != nil {
			return Chunk{}, x.fail(fmt.Errorf("encode rows %d to %d: %w", s.First+from, s.First+to-1, err))
		}
		from = to
	}
	var err error
	if c.Data, c.Raw, c.CRC, err = d.part(); err != nil {
		return Chunk{}, x.fail(err)
	}
	return c, nil
}

// encodeRun writes the rows' XML to w. A workbook that failed is not used again.
func (x *xlsx) encodeRun(w io.Writer, s Span, losses *Losses) (err error) {
	r, ok := x.runs.Get().(*run)
	if !ok {
		if r, err = x.newRun(); err != nil {
			return err
		}
	}
	if err := r.write(s, losses); err != nil {
		return err
	}
	if err := r.copyTo(w); err != nil {
		return err
	}
	x.runs.Put(r)
	return nil
}

func (x *xlsx) Append(c Chunk) error {
	if err := x.failed(); err != nil {
		return err
	}
	if err := x.append(c); err != nil {
		return x.fail(fmt.Errorf("append %d rows to sheet %d: %w", c.Rows, c.Sheet+1, err))
	}
	return nil
}

func (x *xlsx) append(c Chunk) error {
	for len(x.data) == 0 || c.Sheet == len(x.data) {
		if err := x.nextSheet(); err != nil {
			return err
		}
	}
	last := &x.data[len(x.data)-1]
	if c.Sheet != len(x.data)-1 || c.First != firstRow+last.rows {
		return fmt.Errorf("row %d of sheet %d came when row %d of sheet %d was next", c.First, c.Sheet+1, firstRow+last.rows, len(x.data))
	}
	last.rows += c.Rows
	return x.sheet.add(c.Data, c.Raw, c.CRC)
}

// nextSheet ends the open sheet, if any, and starts the next with its header.
func (x *xlsx) nextSheet() error {
	if err := x.endSheet(); err != nil {
		return err
	}
	head, _, err := sheetHead(x.spec.Columns, len(x.data) == 0)
	if err != nil {
		return err
	}
	x.data = append(x.data, dataSheet{name: x.names.next(x.spec.Name, "Sheet")})
	if x.sheet, err = newEntry(x.zip, fmt.Sprintf(sheetPath, len(x.data))); err != nil {
		return err
	}
	return x.addPart(head)
}

func (x *xlsx) endSheet() error {
	if len(x.data) == 0 {
		return nil
	}
	tail, err := sheetTail(x.filterRange(x.data[len(x.data)-1]))
	if err != nil {
		return err
	}
	if err := x.addPart(tail); err != nil {
		return err
	}
	return x.sheet.end()
}

func (x *xlsx) addPart(xml []byte) error {
	d := newDeflater()
	if _, err := d.Write(xml); err != nil {
		return err
	}
	data, raw, crc, err := d.part()
	if err != nil {
		return err
	}
	return x.sheet.add(data, raw, crc)
}

func (x *xlsx) Close(info Info) error {
	if err := x.failed(); err != nil {
		return err
	}
	if err := x.close(info); err != nil {
		return x.fail(fmt.Errorf("end the workbook: %w", err))
	}
	_ = x.fail(errClosed)
	return nil
}

func (x *xlsx) close(info Info) error {
	if len(x.data) == 0 {
		if err := x.nextSheet(); err != nil {
			return err
		}
	}
	if err := x.endSheet(); err != nil {
		return err
	}
	if err := x.writePackage(info); err != nil {
		return err
	}
	return x.zip.Close()
}
