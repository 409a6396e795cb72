package gateway

import (
	"cmp"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"rowmill/export"
	"rowmill/export/sheet"
)

// maxFileName is in bytes: file systems take 255, and browsers add " (1)" and a
// suffix of their own while they download.
const maxFileName = 150

var localNames = map[string]map[string]string{
	"ko": {reservationsName: "예약목록"},
}

// fileName makes the name that was asked safe for any file system. It is empty if
// nothing is left.
func fileName(asked string, format sheet.Format) string {
	ext, stem := "."+string(format), safeStem(asked)
	if stem == "" {
		return ""
	}
	for len(stem) > maxFileName-len(ext) {
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-last]
	}
	return strings.TrimRight(stem, ". ") + ext
}

// named gives the job's request with the name of its file. The default one has the
// day of the order, so it is no part of the stored request: the same order a day
// later would be another.
func named(job export.Job) export.Request {
	r := job.Request
	if r.FileName == "" {
		zone, err := location(r.TimeZone)
		if err != nil {
			zone = time.UTC
		}
		name := cmp.Or(localNames[r.Language][r.Dataset], r.Dataset)
		r.FileName = fileName(name+"_"+job.CreatedAt.In(zone).Format(time.DateOnly), r.Format)
	}
	return r
}

// safeStem gives name without its xlsx or csv suffix and without what a file
// system or a reader could take for something else. Composed (NFC), so that
// Hangul typed on a Mac is not shown as loose letters elsewhere; and once more when
// what stood between two letters is gone.
func safeStem(name string) string {
	name = norm.NFC.String(strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune(`/\:*?"<>|`, c):
			return '_'
		case c == utf8.RuneError, unicode.IsControl(c), unicode.Is(unicode.Cf, c): // Cf: such as the right-to-left override
			return -1
		case unicode.IsSpace(c):
			return ' '
		}
		return c
	}, norm.NFC.String(name)))
	if ext := path.Ext(name); strings.EqualFold(ext, ".xlsx") || strings.EqualFold(ext, ".csv") {
		name = strings.TrimSuffix(name, ext)
	}
	name = strings.Trim(name, ". ")
	base, _, _ := strings.Cut(name, ".")
	if deviceNames[strings.ToUpper(strings.TrimSpace(base))] {
		name = "_" + name
	}
	return name
}

// deviceNames are no file names on Windows, whatever follows their first dot.
var deviceNames = func() map[string]bool {
	names := map[string]bool{"CON": true, "PRN": true, "AUX": true, "NUL": true}
	for _, n := range "123456789" {
		names["COM"+string(n)], names["LPT"+string(n)] = true, true
	}
	return names
}()

// disposition is the Content-Disposition of a download (RFC 6266): an ASCII name
// for old readers, and the name itself as RFC 8187 writes it.
func disposition(name, dataset string) string {
	var encoded strings.Builder
	const hex = "0123456789ABCDEF"
	for i := range len(name) {
		if c := name[i]; attrChar(c) {
			encoded.WriteByte(c)
		} else {
			encoded.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return `attachment; filename="` + asciiName(name, dataset) + `"; filename*=UTF-8''` + encoded.String()
}

// attrChar reports whether c stands for itself in RFC 8187's ext-value.
func attrChar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}

// asciiName is name without what a quoted string cannot hold in plain ASCII; the
// dataset stands for what is lost. A percent sign is lost too: some browsers
// decode it.
func asciiName(name, dataset string) string {
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || strings.ContainsRune(`"\%`, c) {
			return -1
		}
		return c
	}, name)
	if plain == name {
		return name
	}
	ext := path.Ext(plain)
	stem := strings.Trim(strings.TrimSuffix(plain, ext), "_-. ")
	if stem == "" {
		return dataset + ext
	}
	return dataset + "_" + stem + ext
}
