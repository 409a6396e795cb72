package sheet

import (
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/table"
)

// loss is the set of ways in which a cell differs from its value.
type loss uint8

const (
	lossReplaced loss = 1 << iota
	lossCut
	lossZeroDate
	lossDate
	lossDigits
)

var lossKinds = [...]LossKind{Replaced, Cut, ZeroDate, DateAsText, DigitsAsText} // by bit

// add counts the set under the place of a cell.
func (l loss) add(to *Losses, sheet, row int, column string, key int64) {
	for bit, kind := range lossKinds {
		if l&(1<<bit) != 0 {
			to.Add(Loss{Kind: kind, Sheet: sheet + 1, Row: row, Column: column, Key: key})
		}
	}
}

// cellOf gives what excelize is to write for v: nil for no cell, a string, a
// number (also for dates and times, by the wall clock in loc) or a bool. With
// text, the column is one of text and the cell is a string whatever v is.
func cellOf(v table.Value, text bool, loc *time.Location) (any, loss) {
	switch v.Kind() {
	case table.KindNull:
		return nil, 0
	case table.KindZeroDate:
		return nil, lossZeroDate
	case table.KindText:
		return textCell(v.Text())
	case table.KindBool:
		if !text {
			return v.Bool(), 0
		}
	case table.KindInteger:
		if n, ok := integer(v.Integer()); ok && !text {
			return n, 0
		}
	case table.KindDecimal:
		if x, ok := decimal(v); ok && !text {
			return x, 0
		}
	case table.KindDate:
		if n, ok := dateSerial(v.Days()); ok && !text {
			return n, 0
		}
	case table.KindTime:
		if x, ok := timeSerial(v.UnixMicro(), loc); ok && !text {
			return x, 0
		}
	}
	s := string(appendPlain(nil, v, loc))
	switch {
	case text:
		return s, 0
	case v.Kind() == table.KindDate || v.Kind() == table.KindTime:
		return s, lossDate
	}
	return s, lossDigits
}

// textCell gives a string cell's value.
func textCell(s string) (any, loss) {
	var l loss
	s, replaced := clean(s, true)
	if replaced {
		l |= lossReplaced
	}
	s, cut := truncate(s)
	if cut {
		l |= lossCut
	}
	if strings.Contains(s, "_x") {
		if runs := splitEscapes(s); len(runs) > 1 {
			return runs, l
		}
	}
	return s, l
}

// splitEscapes cuts text where two marks that look like an escape share an
// underscore (_x000D_x000D_). excelize escapes the first alone and readers would
// take the second for a carriage return; in runs of their own both are escaped.
func splitEscapes(s string) (runs []excelize.RichTextRun) {
	from, last := 0, -1 // where the run starts, where its last mark ends
	for i := 0; i+escapeLen <= len(s); i++ {
		if !isEscape(s[i : i+escapeLen]) {
			continue
		}
		if i == last-1 {
			runs = append(runs, excelize.RichTextRun{Text: s[from:i]})
			from = i
		}
		last = i + escapeLen
	}
	return append(runs, excelize.RichTextRun{Text: s[from:]})
}

const escapeLen = len("_x000D_")

func isEscape(s string) bool {
	if s[0] != '_' || s[1] != 'x' || s[6] != '_' {
		return false
	}
	for i := 2; i < 6; i++ {
		c := s[i] | 0x20
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
