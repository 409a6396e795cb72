package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/xuri/excelize/v2"
)

// book is an excelize workbook with one sheet to stream to, whose XML stays in
// memory. It can be used for one run of rows after another.
type book struct {
	f     *excelize.File
	sheet string
	head  []byte // what a sheet without a row has up to its rows
	tail  []byte // and after them
	row   []any
	cells []excelize.Cell
	xml   bytes.Buffer // what rows has written
}

const (
	sheetPath  = "xl/worksheets/sheet%d.xml"
	rowsOpen   = "<sheetData>"
	rowsClose  = "</sheetData>"
	bookSheet  = "Sheet1" // excelize gives it to a new workbook, as part 1
	bookSheet2 = "Sheet2"
)

// newBook makes a workbook; its sheet is not its first, which alone is shown as
// selected, unless first says so.
func newBook(columns int, first bool) (*book, error) {
	b := &book{f: excelize.NewFile(), sheet: bookSheet, row: make([]any, columns), cells: make([]excelize.Cell, columns)}
	if !first {
		b.sheet = bookSheet2
		if _, err := b.f.NewSheet(bookSheet2); err != nil {
			return nil, fmt.Errorf("make a sheet: %w", err)
		}
	}
	// Left in, the one-cell dimension hides all rows from readers that trust it.
	if err := b.f.SetSheetDimension(b.sheet, ""); err != nil {
		return nil, fmt.Errorf("clear a sheet's dimension: %w", err)
	}
	return b, nil
}

// newChunkBook makes a workbook for runs of rows. It has no styles: a cell names
// its style by the number that the file's own workbook gives it.
func newChunkBook(columns int) (*book, error) {
	b, err := newBook(columns, true)
	if err != nil {
		return nil, err
	}
	none := func(*excelize.StreamWriter) error { return nil }
	if err := b.stream(io.Discard, none); err != nil { // uses up the sheet that a new workbook has
		return nil, err
	}
	b.blank()
	var empty bytes.Buffer
	if err := b.stream(&empty, none); err != nil {
		return nil, err
	}
	b.head, b.tail, err = aroundRows(empty.Bytes())
	return b, err
}

// blank puts the sheet back, which the end of its stream has taken out of the workbook.
func (b *book) blank() {
	const empty = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>`
	b.f.Pkg.Store(fmt.Sprintf(sheetPath, 1), []byte(empty))
}

// aroundRows cuts a sheet's XML into what precedes and what follows its rows.
func aroundRows(xml []byte) (head, tail []byte, err error) {
	from, to := bytes.Index(xml, []byte(rowsOpen)), bytes.LastIndex(xml, []byte(rowsClose))
	if from < 0 || to < from {
		return nil, nil, errors.New("excelize wrote a sheet without its rows' element")
	}
	return xml[:from+len(rowsOpen)], xml[to:], nil
}

// stream writes the sheet's XML to w, with the rows that fill gives it.
func (b *book) stream(w io.Writer, fill func(*excelize.StreamWriter) error) (err error) {
	sw, err := b.f.NewStreamWriter(b.sheet)
	if err != nil {
		return fmt.Errorf("start a sheet: %w", err)
	}
	defer func() { err = errors.Join(err, b.f.Close()) }()
	if err := fill(sw); err != nil {
		return err
	}
	if err := sw.Flush(); err != nil {
		return fmt.Errorf("end a sheet: %w", err)
	}
	path := fmt.Sprintf(sheetPath, 1)
	if b.sheet == bookSheet2 {
		path = fmt.Sprintf(sheetPath, 2)
	}
	parts := &parts{to: func(name string) io.Writer {
		if name == path {
			return w
		}
		return io.Discard
	}}
	return parts.write(b.f)
}

// rows leaves the XML of the rows that fill sets in b.xml, and nothing around them.
func (b *book) rows(fill func(*excelize.StreamWriter) error) error {
	b.blank()
	b.xml.Reset()
	in := &inside{w: &b.xml, skip: len(b.head), tail: b.tail}
	if err := b.stream(in, fill); err != nil {
		return err
	}
	return in.end()
}

// set puts a value into the row that is to be written; style 0 is none.
func (b *book) set(column, style int, value any) {
	if style != 0 {
		b.cells[column] = excelize.Cell{StyleID: style, Value: value}
		value = &b.cells[column]
	}
	b.row[column] = value
}

// parts is where excelize puts the parts of a package, by their names.
type parts struct {
	to func(name string) io.Writer
}

func (p *parts) Create(name string) (io.Writer, error) { return p.to(name), nil }
func (p *parts) AddFS(fs.FS) error                     { return errors.ErrUnsupported }
func (p *parts) Close() error                          { return nil }

func (p *parts) write(f *excelize.File) error {
	f.SetZipWriter(func(io.Writer) excelize.ZipWriter { return p })
	if err := f.Write(io.Discard); err != nil {
		return fmt.Errorf("write a workbook: %w", err)
	}
	return nil
}

// inside passes on what lies between a sheet's head and its tail.
type inside struct {
	w    io.Writer
	skip int    // bytes of the head to come
	tail []byte // what must come last
	held []byte // at most the tail's length
}

func (in *inside) Write(p []byte) (int, error) {
	n := len(p)
	head := min(in.skip, n)
	in.skip -= head
	p = p[head:]
	if more := len(in.held) + len(p) - len(in.tail); more > 0 {
		fromHeld := min(more, len(in.held))
		if _, err := in.w.Write(in.held[:fromHeld]); err != nil {
			return 0, err
		}
		in.held = append(in.held[:0], in.held[fromHeld:]...)
		if _, err := in.w.Write(p[:more-fromHeld]); err != nil {
			return 0, err
		}
		p = p[more-fromHeld:]
	}
	in.held = append(in.held, p...)
	return n, nil
}

func (in *inside) end() error {
	if in.skip > 0 || !bytes.Equal(in.held, in.tail) {
		return errors.New("excelize wrote a sheet that does not end as an empty one does")
	}
	return nil
}
