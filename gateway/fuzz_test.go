package gateway

import (
	"fmt"
	"mime"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// FuzzParseList: a list that is taken stays within its bounds and is the same when it
// is asked by its own words, and one that is refused says of what.
func FuzzParseList(f *testing.F) {
	for _, query := range []string{
		"", "_start=0&_end=25&_sort=id&_order=ASC", "_page=3&_limit=50", "_page=2", "_limit=5000", "_end=5001", "_start=5", "_page=9223372036854775807&_limit=2", "_start=9223372036854775807&_limit=1",
		"_start=-1&_end=5", "_start=9223372036854775806&_end=9223372036854775807", "_fields=id,code&status=Canceled", "_fields=", "_sort=memo", "_sort=check_in&_order=up", "q=Kim&_end=5&_end=6", "a;b", "%zz", "_page=1&_limit=0",
		"_start=0&_end=-9223372036854775808", "id=3&id=1&_embed=guest",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseList(raw)
		if err != nil {
			if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Error() == "" {
				t.Fatalf("%q is refused as %v", raw, err)
			}
			return
		}
		if q.window.Limit < 1 || q.window.Limit > reservation.MaxListLimit || q.window.Offset < 0 || len(q.fields) == 0 {
			t.Fatalf("%q has the window %+v and %d fields", raw, q.window, len(q.fields))
		}
		again, err := parseList(asQuery(q))
		if err != nil {
			t.Fatalf("%q is %q, which is refused: %v", raw, asQuery(q), err)
		}
		if diff := cmp.Diff(q, again, cmp.AllowUnexported(listQuery{}, table.Value{})); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}

// asQuery asks for the list in the dialect's own words.
func asQuery(q listQuery) string {
	params := url.Values(q.query.Filter.Params())
	params.Set("_sort", q.query.Sort.Field)
	if q.query.Sort.Desc {
		params.Set("_order", "desc")
	}
	if q.bounded {
		params.Set("_start", fmt.Sprint(q.window.Offset))
		params.Set("_limit", fmt.Sprint(q.window.Limit))
	}
	var keys []string
	for _, field := range q.fields {
		keys = append(keys, field.Key)
	}
	params.Set("_fields", strings.Join(keys, ","))
	return params.Encode()
}

// FuzzFileName: whatever was asked, the name is one that every file system takes and
// no reader takes for a path, and the header that carries it is one header that
// gives it back.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{
		"", "예약목록_2026-11.xlsx", "../../etc/passwd", `C:\x`, "a\r\nSet-Cookie: x=1", "con.txt", "COM1", " . ", ".xlsx", "a.csv.xlsx", "a\u202Egpj.xlsx", "\xff\xfe", "%41.xlsx", `a"b;c`, strings.Repeat("가", 80), strings.Repeat("a.", 100),
		"\u1112\u1161\u11ab", "nul ", "\u00a0", strings.Repeat("a", 144) + " b", "\u0345", "x\u2028y", "A\xff\u0300", "<\u0338",
	} {
		f.Add(name, true)
		f.Add(name, false)
	}
	f.Fuzz(func(t *testing.T, asked string, excel bool) {
		format := sheet.CSV
		if excel {
			format = sheet.XLSX
		}
		name := fileName(asked, format)
		if name == "" {
			return // the default stands for it
		}
		isSafe(t, name, "."+string(format))
		if again := fileName(name, format); again != name {
			t.Errorf("%q becomes %q, and that becomes %q", asked, name, again)
		}
		header := disposition(name, reservationsName)
		for i := range len(header) {
			if header[i] < ' ' || header[i] > '~' {
				t.Fatalf("the header %q holds the byte %#x", header, header[i])
			}
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || params["filename"] != name {
			t.Errorf("the header %q is read as %s %q, %v", header, kind, params, err)
		}
	})
}

func isSafe(t *testing.T, name, ext string) {
	t.Helper()
	stem, ends := strings.CutSuffix(name, ext)
	switch base, _, _ := strings.Cut(stem, "."); {
	case len(name) > maxFileName:
		t.Errorf("%q has %d bytes", name, len(name))
	case !utf8.ValidString(name):
		t.Errorf("%q is not UTF-8", name)
	case strings.ContainsAny(name, `/\:*?"<>|`):
		t.Errorf("%q holds what a path or a shell reads", name)
	case strings.ContainsFunc(name, func(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }):
		t.Errorf("%q holds what cannot be seen", name)
	case !ends || stem == "" || strings.HasPrefix(stem, ".") || strings.HasSuffix(stem, ".") || strings.TrimSpace(stem) != stem:
		t.Errorf("%q is not a name with the suffix %s", name, ext)
	case deviceNames[strings.ToUpper(strings.TrimSpace(base))]:
		t.Errorf("%q is a device", name)
	}
}
