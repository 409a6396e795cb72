package sheet

import (
	"unicode/utf8"

	"rowmill/internal/table"
)

// placer gives rows their sheets and row numbers.
type placer struct {
	maxRows int
	maxXML  int64 // of a sheet's rows
	fair    int64 // maxXML's share of one row when a sheet is full

	sheet int
	rows  int   // placed on the sheet
	xml   int64 // their bound
}

func newPlacer(maxRows int, maxXML int64) *placer {
	return &placer{maxRows: maxRows, maxXML: maxXML, fair: maxXML / int64(maxRows)}
}

// place cuts rows into spans. It depends on nothing but the rows so far.
func (p *placer) place(rows []table.Row) []Span {
	var spans []Span
	from := 0
	for i := range rows {
		bound := p.bound(&rows[i])
		if p.full(bound) {
			spans = p.span(spans, rows[from:i])
			from = i
			p.turn()
		}
		p.add(bound)
	}
	return p.span(spans, rows[from:])
}

// full reports that a row of the bound has no room on the sheet.
func (p *placer) full(bound int64) bool {
	return p.rows == p.maxRows || p.rows > 0 && p.xml+bound > p.maxXML
}

// turn starts the next sheet.
func (p *placer) turn() { p.sheet, p.rows, p.xml = p.sheet+1, 0, 0 }

// add places a row of the bound.
func (p *placer) add(bound int64) {
	p.rows++
	p.xml += bound
}

// span adds a span of the rows placed last.
func (p *placer) span(spans []Span, rows []table.Row) []Span {
	if len(rows) == 0 {
		return spans
	}
	return append(spans, Span{Sheet: p.sheet, First: firstRow + p.rows - len(rows), Rows: rows})
}

// firstRow is the number of a sheet's first row of data.
const firstRow = 2

// bound gives an upper bound of a row's XML. A rough one will do while it stays
// within the row's fair share: then the sheet cannot pass its limit.
func (p *placer) bound(r *table.Row) int64 {
	if rough := roughBound(r); rough <= p.fair {
		return rough
	}
	return exactBound(r)
}

// The longest marks that stand around a row and a cell, the latter with the
// longest content of a cell that is not made of text.
const (
	rowMarks  = len(`<row r="1048576"></row>`)
	cellMarks = len(`<c r="XFD1048576" s="65535" t="inlineStr"><is><t xml:space="preserve"></t></is></c>`) + 40
)

// roughByte is more than a byte of text can become: at the worst, six characters
// of overlapping escapes become a run of rich text of their own.
const roughByte = 12

func roughBound(r *table.Row) int64 {
	return rowBound(r, func(s string) int { return roughByte * len(s) })
}

func exactBound(r *table.Row) int64 { return rowBound(r, escapedBound) }

func rowBound(r *table.Row, text func(string) int) int64 {
	n := rowMarks
	for i := range r.Values {
		switch v := &r.Values[i]; v.Kind() {
		case table.KindNull:
		case table.KindText, table.KindDecimal:
			n += cellMarks + text(v.Text())
		default:
			n += cellMarks
		}
	}
	return int64(n)
}

// escapeRun is what a mark that looks like an escape (_x000D_) can become.
const escapeRun = len(`<r><t xml:space="preserve"></t></r>`) + len("_x005F_x005F_x005F_")

// grows is by how many bytes more than itself a byte of text can become: an
// escape, or U+FFFD.
var grows = func() (by [256]uint8) {
	for c := range ' ' {
		by[c] = uint8(len("\uFFFD") - 1)
	}
	for _, c := range "\"'&<>\t" {
		by[c] = uint8(len("&#x9;") - 1)
	}
	return by
}()

// escapedBound bounds the length of s as XML text, cut as a cell cuts it.
func escapedBound(s string) int {
	if len(s) > MaxCellText {
		s, _ = truncate(s)
	}
	n, high := len(s), byte(0)
	for i := range len(s) {
		c := s[i]
		n += int(grows[c])
		high |= c
		if c == '_' && i+1 < len(s) && s[i+1] == 'x' {
			n += escapeRun
		}
	}
	if high >= utf8.RuneSelf && !utf8.ValidString(s) { // each bad byte becomes U+FFFD
		n += (len("\uFFFD") - 1) * len(s)
	}
	return n
}
