// Package sheet writes tables as files: xlsx through excelize's stream writer,
// and CSV. A file is made of chunks that are encoded on any goroutine and joined
// in order, so no file is ever held whole, in memory or on disk. It knows no
// domain.
//
// The life of a file: New, then for each page of rows in order Place, then
// Encode of each span on any goroutine, then Append in order, then Close.
//
// Rows can also be encoded before it is known where they will stand, by another
// process or an earlier one: a Draft gives chunks that WriteChunk keeps, and the
// file's encoder, which is a Joiner, takes them in with PlaceChunk, Move on any
// goroutine, then Append in order.
package sheet

import (
	"cmp"
	"io"
	"time"

	"rowmill/internal/fault"
	"rowmill/internal/table"
)

// Format is a file format.
type Format string

const (
	XLSX Format = "xlsx"
	CSV  Format = "csv"
)

// ContentType gives the media type of files in the format.
func (f Format) ContentType() string {
	if f == CSV {
		return "text/csv; charset=utf-8"
	}
	return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
}

// Limits of the xlsx format. Excel 2007 and later: 1,048,576 rows a sheet, 16,384
// columns, 32,767 UTF-16 units a cell (support.microsoft.com, "Excel
// specifications and limits"); a zip entry past 4 GiB is not read by Excel.
const (
	MaxDataRows = 1_048_575 // a sheet's rows without its header
	MaxColumns  = 16_384
	MaxCellText = 32_767
	MaxSheetXML = 4<<30 - 1<<20
)

// Column is a column of the file.
type Column struct {
	Title  string
	Type   table.Type
	Scale  uint8   // of a decimal: places shown
	Width  float64 // in characters
	Format string  // number format; "" for the type's own
}

// Spec says what file to write.
type Spec struct {
	Format   Format
	Name     string         // of the first sheet; made legal
	Columns  []Column       // 1 to MaxColumns
	Location *time.Location // for times; nil: UTC

	MaxRows int   // data rows a sheet; 0: MaxDataRows
	MaxXML  int64 // bytes of a sheet's XML; 0: MaxSheetXML
}

// Span is a run of rows that go to one sheet, with the place of the first.
type Span struct {
	Sheet int // from 0
	First int // row number in the sheet of the first row; 2 follows the header. CSV: its record number
	Rows  []table.Row
}

// Chunk is an encoded span: what Append takes.
type Chunk struct {
	Sheet  int
	First  int // row number of the first row, as in its span
	Rows   int
	Data   []byte // deflated sheet XML, or plain CSV
	Raw    int64  // bytes before deflate
	CRC    uint32 // CRC-32 (IEEE) of the bytes before deflate
	Losses Losses
	// Bounds has, of each row, the bytes of XML that the cutting of sheets counts.
	// A Draft of an xlsx file sets it, nothing else.
	Bounds []int64
}

// Encoder writes one file.
type Encoder interface {
	// Place gives the rows their places, in order, from one goroutine; rows that
	// fall on two sheets become two spans.
	Place(rows []table.Row) []Span
	// Encode encodes a span. It is safe for concurrent use. The same span gives
	// the same bytes on any goroutine.
	Encode(s Span) (Chunk, error)
	// Append joins a chunk to the file. Chunks come in the order of their spans;
	// a chunk out of order is an error. After an error of Encode, Append or Close
	// the file is lost and must not be published: every later call fails too.
	Append(c Chunk) error
	// Close ends the file with the info sheet (xlsx only). It does not close the
	// writer given to New. A file without a row has its header all the same.
	Close(info Info) error
}

// Info is the last sheet of an xlsx file: what the file is.
type Info struct {
	Title string    // name of the sheet; made legal
	At    time.Time // when the file was made, for its properties; zero: now
	Lines []InfoLine
	// Losses' heads, in the language of the file: "Sheet", "Row", "Column", "What".
	LossTitles [4]string
	LossNames  map[LossKind]string
	Losses     Losses
}

// InfoLine is a label and what stands beside it.
type InfoLine struct {
	Label string
	Value table.Value
}

// LossKind is a way in which a cell differs from its value.
type LossKind string

const (
	Replaced     LossKind = "replaced"       // characters that XML or UTF-8 forbids became U+FFFD
	Cut          LossKind = "cut"            // text past MaxCellText was cut
	ZeroDate     LossKind = "zero_date"      // 0000-00-00 became an empty cell
	DateAsText   LossKind = "date_as_text"   // a day without a serial number, before 1900-01-01 or after 9999-12-31, became text
	DigitsAsText LossKind = "digits_as_text" // a number past 15 significant digits became text
)

// MaxLossPlaces is how many places a file's losses list; all are counted.
const MaxLossPlaces = 1000

// Loss is a cell that differs from its value.
type Loss struct {
	Kind   LossKind `json:"kind"`
	Sheet  int      `json:"sheet"`  // from 1
	Row    int      `json:"row"`    // as the spreadsheet shows it
	Column string   `json:"column"` // title
	Key    int64    `json:"key"`    // of the row
}

// Losses counts cells by what happened to them, and lists the first places.
type Losses struct {
	Counts map[LossKind]int64 `json:"counts,omitempty"`
	Places []Loss             `json:"places,omitempty"`
}

// Add counts a loss.
func (l *Losses) Add(x Loss) {
	if l.Counts == nil {
		l.Counts = map[LossKind]int64{}
	}
	l.Counts[x.Kind]++
	if len(l.Places) < MaxLossPlaces {
		l.Places = append(l.Places, x)
	}
}

// Merge counts the losses of the chunk that follows.
func (l *Losses) Merge(next Losses) {
	for kind, n := range next.Counts {
		if l.Counts == nil {
			l.Counts = map[LossKind]int64{}
		}
		l.Counts[kind] += n
	}
	room := min(len(next.Places), MaxLossPlaces-len(l.Places))
	l.Places = append(l.Places, next.Places[:max(0, room)]...)
}

// Contents is what Verify found in a file.
type Contents struct {
	Sheets []int64 // data rows of each data sheet, in order
}

// Rows gives all data rows.
func (c Contents) Rows() (n int64) {
	for _, rows := range c.Sheets {
		n += rows
	}
	return n
}

// New returns an encoder that writes the file to w as chunks are appended. It
// writes nothing yet. A spec that no file can follow is an Invalid fault.
func New(w io.Writer, spec Spec) (Encoder, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	spec = spec.complete()
	if spec.Format == CSV {
		return newCSV(w, spec), nil
	}
	return newXLSX(w, spec)
}

// complete fills in what the spec leaves to its defaults.
func (s Spec) complete() Spec {
	s.Location = cmp.Or(s.Location, time.UTC)
	s.MaxRows = cmp.Or(s.MaxRows, MaxDataRows)
	s.MaxXML = cmp.Or(s.MaxXML, int64(MaxSheetXML))
	return s
}

func (s Spec) validate() error {
	switch {
	case s.Format != XLSX && s.Format != CSV:
		return fault.New(fault.Invalid, "%q is not a file format; xlsx and csv are", s.Format)
	case len(s.Columns) == 0 || len(s.Columns) > MaxColumns:
		return fault.New(fault.Invalid, "a file has 1 to %d columns, not %d", MaxColumns, len(s.Columns))
	case s.MaxRows < 0 || s.MaxRows > MaxDataRows:
		return fault.New(fault.Invalid, "a sheet has at most %d rows below its header, not %d", MaxDataRows, s.MaxRows)
	case s.MaxXML < 0 || s.MaxXML > MaxSheetXML:
		return fault.New(fault.Invalid, "a sheet has at most %d bytes of XML, not %d", int64(MaxSheetXML), s.MaxXML)
	}
	for _, c := range s.Columns {
		if c.Width < 0 || c.Width > maxWidth {
			return fault.New(fault.Invalid, "column %q: a width is 0 to %d characters, not %g", c.Title, maxWidth, c.Width)
		}
		if c.Scale > maxScale {
			return fault.New(fault.Invalid, "column %q: a scale is 0 to %d, not %d", c.Title, maxScale, c.Scale)
		}
	}
	return nil
}

const (
	maxWidth = 255 // of a column, in characters (Excel specifications and limits)
	maxScale = 30  // of a number format and of MySQL's DECIMAL
)
