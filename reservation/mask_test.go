package reservation_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"rowmill/internal/table"
	"rowmill/reservation"
)

func TestMask(t *testing.T) {
	for _, c := range []struct {
		kind       reservation.Personal
		from, want string
	}{
		{reservation.PersonalName, "", ""},
		{reservation.PersonalName, "김", "**"},
		{reservation.PersonalName, "김민", "김**"},
		{reservation.PersonalName, "김민준", "김**"},
		{reservation.PersonalName, "Lee Ann", "L**"},
		{reservation.PersonalName, "  Lee", "L**"},
		{reservation.PersonalName, " L ", "**"},
		{reservation.PersonalName, "   ", "**"},
		{reservation.PersonalName, "\u1100\u1175\u11b7\u1106\u1175\u11ab", "\u1100\u1175\u11b7**"}, // 김민 as conjoining letters
		{reservation.PersonalName, "e\u0301a", "e\u0301**"},
		{reservation.PersonalName, "👩‍👩‍👧x", "👩‍👩‍👧**"},
		{reservation.PersonalName, "e" + strings.Repeat("\u0301", 100) + "a", "**"},
		{reservation.PersonalName, "\xff\xfe", "**"},

		{reservation.PersonalPhone, "", ""},
		{reservation.PersonalPhone, "010-1234-5678", "010-****-**78"},
		{reservation.PersonalPhone, "01012345678", "010******78"},
		{reservation.PersonalPhone, "+82 10-1234-5678", "+82 1*-****-**78"},
		{reservation.PersonalPhone, "(02) 123.4567", "(02) 1**.**67"},
		{reservation.PersonalPhone, "02-123-456", "**-***-***"},
		{reservation.PersonalPhone, "12345", "*****"},
		{reservation.PersonalPhone, "010-1234-5678 Kim", "010-****-**78 ***"},
		{reservation.PersonalPhone, "010-\xff34-5678", "010-***-**78"},
		{reservation.PersonalPhone, strings.Repeat("1", 41), "**"},

		{reservation.PersonalEmail, "", ""},
		{reservation.PersonalEmail, "user@mail.example.kr", "u***@***.kr"},
		{reservation.PersonalEmail, "u@example.kr", "***@***.kr"},
		{reservation.PersonalEmail, "김민준@example.한국", "김***@***.한국"},
		{reservation.PersonalEmail, "user@localhost", "u***@***"},
		{reservation.PersonalEmail, "user@10.0.0.7", "u***@***"},
		{reservation.PersonalEmail, "a.b@c", "a***@***"},
		{reservation.PersonalEmail, "user@x.kim minjun", "u***@***"},
		{reservation.PersonalEmail, "user@x.", "u***@***"},
		{reservation.PersonalEmail, "a@b@example.com", "a***@***.com"},
		{reservation.PersonalEmail, "kim minjun", "***"},
		{reservation.PersonalEmail, "@", "***@***"},

		{reservation.PersonalText, "", ""},
		{"", "as it is", "as it is"},
	} {
		if got := c.kind.Mask(table.TextOf(c.from)); got != table.TextOf(c.want) {
			t.Errorf("%s %q: %q, want %q", c.kind, c.from, got, c.want)
		}
	}
}

func TestMaskHidesWhatItDoesNotKnow(t *testing.T) {
	for _, kind := range []reservation.Personal{reservation.PersonalText, "passport"} {
		if got := kind.Mask(table.TextOf("M1234")); !got.IsNull() {
			t.Errorf("%s: %v", kind, got)
		}
	}
	for _, kind := range personalKinds {
		if got := kind.Mask(table.Null()); !got.IsNull() {
			t.Errorf("%s: NULL became %v", kind, got)
		}
		if got := kind.Mask(table.IntegerOf(821012345678)); !got.IsNull() {
			t.Errorf("%s: a number became %v", kind, got)
		}
	}
}

func TestMaskRowsLeavesTheOtherFields(t *testing.T) {
	fields, err := reservation.FieldsOf([]string{"id", "guest_name", "country", "memo"})
	if err != nil {
		t.Fatal(err)
	}
	text := table.TextOf
	rows := []table.Row{
		{Key: 1, Values: []table.Value{table.IntegerOf(1), text("Kim"), text("KOR"), text("window")}},
		{Key: 2, Values: []table.Value{table.IntegerOf(2), table.Null(), table.Null(), text("")}},
		{Key: 3, Values: []table.Value{table.IntegerOf(3)}},
	}
	reservation.MaskRows(fields, rows)
	want := []table.Row{
		{Key: 1, Values: []table.Value{table.IntegerOf(1), text("K**"), text("KOR"), table.Null()}},
		{Key: 2, Values: []table.Value{table.IntegerOf(2), table.Null(), table.Null(), text("")}},
		{Key: 3, Values: []table.Value{table.IntegerOf(3)}},
	}
	if diff := cmp.Diff(want, rows, sameValue); diff != "" {
		t.Error(diff)
	}
}

var personalKinds = []reservation.Personal{reservation.PersonalName, reservation.PersonalPhone, reservation.PersonalEmail, reservation.PersonalText}

// Whatever a value is made of, its mask is UTF-8, no longer than it must be, and
// tells no more than the rule of its kind allows.
func TestMasksKeepTheirPromises(t *testing.T) {
	pieces := []string{"김", "민", "a", "B", " ", "-", ".", "@", "0", "1", "9", "+", "\u0301", "\u1100", "\u1161", "👩", "\u200d", "🇰", "🇷", "\xff", "\x00", "٣", "kr", "*", "\t"}
	r := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(16) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		for _, kind := range personalKinds {
			v := kind.Mask(table.TextOf(s))
			if s == "" {
				if v != table.TextOf("") {
					t.Fatalf("%s: the empty text became %q", kind, v)
				}
				continue
			}
			if v.IsNull() != (kind == reservation.PersonalText) {
				t.Fatalf("%s %q became %v", kind, s, v)
			}
			if !v.IsNull() {
				promised(t, kind, s, v.Text())
			}
		}
	}
}

func promised(t *testing.T, kind reservation.Personal, s, masked string) {
	t.Helper()
	told := strings.NewReplacer("*", "").Replace(masked)
	switch {
	case !utf8.ValidString(masked) || !strings.Contains(masked, "*") && strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("+-./() ", r) }) >= 0:
		t.Fatalf("%s %q became %q", kind, s, masked)
	case len(masked) > len(s)+len("***@***"):
		t.Fatalf("%s %q became the longer %q", kind, s, masked)
	case kind == reservation.PersonalName && uniseg.GraphemeClusterCount(told) > 1:
		t.Fatalf("the name %q became %q", s, masked)
	case kind == reservation.PersonalName && told != "" && strings.TrimSpace(s) == told:
		t.Fatalf("the name %q is told whole: %q", s, masked)
	case kind == reservation.PersonalPhone && countDigits(told) > 0 && countDigits(s)-countDigits(told) < 4:
		t.Fatalf("the number %q became %q", s, masked)
	case kind == reservation.PersonalPhone && strings.ContainsFunc(told, unicode.IsLetter):
		t.Fatalf("the number %q became %q", s, masked)
	case kind == reservation.PersonalEmail && strings.Count(masked, "***") == 0:
		t.Fatalf("the address %q became %q", s, masked)
	}
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
