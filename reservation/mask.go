package reservation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"rowmill/internal/table"
)

// hidden stands for what is not told, however long it is.
const hidden = "**"

// Bounds of what a mask lets through.
const (
	maxInitial    = 32 // bytes of a first character: more is no name's, but marks piled on each other
	maxPhone      = 40 // characters: E.164 has 15 digits, the rest is room for separators
	phoneHead     = 3  // digits that are kept: a network or country
	phoneTail     = 2
	phoneHides    = 4  // digits that must be hidden, or all are
	maxDomainName = 24 // bytes of a top-level domain
)

// Mask gives what of a value may be seen by who may not see personal data. NULL
// and the empty text stay, as nothing is in them; else
//
//   - a name is its first character and "**": 김**, L**,
//   - a phone number keeps its separators, the first 3 digits and the last 2, and
//     has "*" for each other character: 010-****-**78. One of fewer than 9 digits
//     keeps none,
//   - an e-mail address is its first character and its top-level domain: u***@***.kr,
//   - free text is NULL: it may hold anything.
//
// A character is what a reader takes for one (Unicode's grapheme cluster). One
// that is all there is before the end of a name or the "@" of an address is
// hidden as well. What is not of its kind is hidden as a whole, and so is a value
// of a kind that is not known.
func (p Personal) Mask(v table.Value) table.Value {
	switch {
	case p == "" || v.IsNull() || v.Kind() == table.KindText && v.Text() == "":
		return v
	case v.Kind() != table.KindText:
		return table.Null()
	}
	switch p {
	case PersonalName:
		return table.TextOf(initial(v.Text()) + hidden)
	case PersonalPhone:
		return table.TextOf(maskPhone(v.Text()))
	case PersonalEmail:
		return table.TextOf(maskEmail(v.Text()))
	}
	return table.Null()
}

// MaskRows masks the personal fields of rows, in place.
func MaskRows(fields []Field, rows []table.Row) {
	for i, f := range fields {
		if f.Personal == "" {
			continue
		}
		for _, row := range rows {
			if i < len(row.Values) { // one that is short is refused when it is written
				row.Values[i] = f.Personal.Mask(row.Values[i])
			}
		}
	}
}

// MaskFilter gives a filter's parameters as they may be shown to who may not see
// personal data: what rows were selected by is as telling as what stands in them.
// A search is taken for a name where it was looked for among names, which searched
// says. What is no parameter of a filter stays. The given map is not changed.
func MaskFilter(params map[string][]string, searched bool) map[string][]string {
	if params == nil {
		return nil
	}
	shown := make(map[string][]string, len(params))
	for name, values := range params {
		field, op, _ := parameter(name)
		kind := field.Personal
		if name == "q" && searched {
			kind = PersonalName
		}
		if kind == "" || op == IsNull {
			shown[name] = values
			continue
		}
		masked := make([]string, len(values))
		for i, v := range values {
			masked[i] = hidden
			if m := kind.Mask(table.TextOf(v)); !m.IsNull() {
				masked[i] = m.Text()
			}
		}
		shown[name] = masked
	}
	return shown
}

// initial gives the first character of a text that has more than one.
func initial(s string) string {
	s = strings.TrimSpace(s)
	first, rest, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	if rest == "" || len(first) > maxInitial || !utf8.ValidString(first) {
		return ""
	}
	return first
}

func maskPhone(s string) string {
	digits, characters := 0, 0
	for _, r := range s {
		characters++
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if characters > maxPhone {
		return hidden
	}
	head, tail := phoneHead, digits-phoneTail
	if digits < phoneHead+phoneTail+phoneHides {
		head, tail = 0, digits
	}
	var b strings.Builder
	seen := 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			if seen < head || seen >= tail {
				b.WriteRune(r)
			} else {
				b.WriteByte('*')
			}
			seen++
		case strings.ContainsRune("+-./() ", r):
			b.WriteRune(r)
		default:
			b.WriteByte('*')
		}
	}
	return b.String()
}

func maskEmail(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return "***"
	}
	masked := initial(s[:at]) + "***@***"
	if dot := strings.LastIndexByte(s[at:], '.'); dot > 0 && isDomainName(s[at+dot+1:]) {
		masked += s[at+dot:]
	}
	return masked
}

// isDomainName tells a top-level domain from the end of an IP address and from
// what is no address at all.
func isDomainName(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return len(s) <= maxDomainName && utf8.ValidString(s) && unicode.IsLetter(first) &&
		!slices.ContainsFunc([]rune(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '-'
		})
}
