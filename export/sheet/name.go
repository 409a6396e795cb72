package sheet

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxName is the length of a sheet's name in UTF-16 units (Excel specifications and limits).
const maxName = 31

// names gives sheets their names: legal in Excel, and unique ignoring case.
type names struct {
	taken map[string]bool
}

// next gives the wanted name made legal, with a number after it if it is taken.
func (n *names) next(wanted, fallback string) string {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	base := legalName(wanted, fallback)
	name := shorten(base, maxName)
	for i := 2; n.taken[strings.ToLower(name)]; i++ {
		suffix := " (" + strconv.Itoa(i) + ")"
		name = shorten(base, maxName-len(suffix)) + suffix
	}
	n.taken[strings.ToLower(name)] = true
	return name
}

// legalName replaces what a name may not hold. An apostrophe is replaced
// everywhere, not at the ends alone: excelize writes the filter's range without
// doubling it. Excel keeps the name History for itself.
func legalName(s, fallback string) string {
	s, _ = clean(s, true)
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || strings.ContainsRune(`[]:*?/\`, r):
			return '_'
		case r == '\'':
			return '’'
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return fallback
	case strings.EqualFold(s, "history"):
		return s + "_"
	}
	return s
}

// shorten cuts s to the units, at a whole character and without trailing spaces.
func shorten(s string, units int) string {
	used := 0
	for i, r := range s {
		used += max(1, utf16.RuneLen(r))
		if used > units {
			return strings.TrimRight(s[:i], " ")
		}
	}
	return s
}
