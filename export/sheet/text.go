package sheet

import (
	"strings"
	"unicode/utf8"
)

// clean gives s as XML 1.0 can hold it (its production Char): each other
// character, and each byte that is not UTF-8, becomes U+FFFD. With lines, CR LF
// and a lone CR become LF, the one line break that cells know; that is no loss.
func clean(s string, lines bool) (text string, replaced bool) {
	if isClean(s) {
		return s, false
	}
	at := firstUnclean(s, lines)
	if at == len(s) {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for at < len(s) {
		b.WriteString(s[:at])
		s = s[at:]
		switch r, n := utf8.DecodeRuneInString(s); {
		case r == '\r' && len(s) > 1 && s[1] == '\n':
			s = s[1:] // the LF that follows stays
		case r == '\r':
			b.WriteByte('\n')
			s = s[1:]
		default:
			b.WriteRune(utf8.RuneError)
			s = s[n:]
			replaced = true
		}
		at = firstUnclean(s, lines)
	}
	b.WriteString(s)
	return b.String(), replaced
}

// isClean reports that clean has nothing to change, at a fraction of the cost of
// looking for the place. A carriage return and what may be U+FFFE leave it undecided.
func isClean(s string) bool {
	high := byte(0)
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\n' && c != '\t' || c == 0xEF {
			return false
		}
		high |= c
	}
	return high < utf8.RuneSelf || utf8.ValidString(s)
}

// firstUnclean gives the index of the first byte that clean changes, or len(s).
func firstUnclean(s string, lines bool) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' && (lines || c != '\r') {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if n == 1 || r == 0xFFFE || r == 0xFFFF {
			return i
		}
		i += n
	}
	return len(s)
}

// truncate cuts clean text to MaxCellText UTF-16 units, never inside a character.
func truncate(s string) (text string, cut bool) {
	if len(s) <= MaxCellText { // a byte is at most one unit
		return s, false
	}
	units := 0
	for i, r := range s {
		units++
		if r > 0xFFFF {
			units++
		}
		if units > MaxCellText {
			return s[:i], true
		}
	}
	return s, false
}

// guarded reports whether a spreadsheet program that opens a CSV file could take
// s for a formula (OWASP, "CSV injection"). A plain signed number is none.
func guarded(s string) bool {
	if s == "" {
		return false
	}
	switch s[0] {
	case '=', '@', '\t', '\r':
		return true
	case '+', '-':
		return !plainNumber(s[1:])
	}
	return false
}

// plainNumber reports whether s is digits, with at most one point between them.
func plainNumber(s string) bool {
	point := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
		case c == '.' && !point && i > 0 && i < len(s)-1:
			point = true
		default:
			return false
		}
	}
	return s != ""
}
