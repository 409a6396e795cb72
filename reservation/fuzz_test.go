package reservation_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// isRefusal fails unless err is one that its caller can act on: invalid, with every
// part named.
func isRefusal(t *testing.T, err error) {
	t.Helper()
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		t.Fatalf("the refusal names nothing: %v", err)
	}
	for _, field := range f.Fields {
		if field.Detail == "" {
			t.Errorf("%q is refused without a word", field.Name)
		}
	}
}

// FuzzParseFilter: whatever is taken survives its own dialect, and keeps the bounds.
func FuzzParseFilter(f *testing.F) {
	for _, query := range []string{
		"", "status=Canceled&status=No-Show", "check_in_gte=2024-02-29&check_in_lte=2024-03-01", "code_like=%25_", "q=%EA%B9%80", "memo_null=true",
		"amount=-0.10&amount_gte=12", "id=-9223372036854775808", "paid_at_lte=2024-01-01T09:00:00.5%2B09:00", "repeated_guest=T", "status_ne=&memo=%00", "property_id=1&colour=red", "q=a&q=b",
		"id_gte=+1", "nights=007", "updated_at=0000-01-01T00:00:00Z", "amount=00.5",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		params, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		first, err := reservation.ParseFilter(params)
		if err != nil {
			isRefusal(t, err)
			return
		}
		values := 0
		for _, c := range first.Conditions {
			values += len(c.Values)
		}
		if len(first.Conditions) > reservation.MaxConditions || values > reservation.MaxAllValues || len(first.Search) > reservation.MaxSearch {
			t.Fatalf("%d conditions, %d values, %d bytes to search for", len(first.Conditions), values, len(first.Search))
		}
		second, err := reservation.ParseFilter(first.Params())
		if err != nil {
			t.Fatalf("%q gives %q, which is refused: %v", query, first.Params(), err)
		}
		if diff := cmp.Diff(first, second, sameValue); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(first.Params(), second.Params()); diff != "" {
			t.Errorf("as parameters (-first +second):\n%s", diff)
		}
	})
}

// FuzzParseSort: a sort that is taken is by a field that an index sorts, and is the
// same when it is asked by its own words.
func FuzzParseSort(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"check_in", "DESC"}, {"id", "asc"}, {"memo", ""}, {"id,code", "asc,desc"}, {"CHECK_IN", "Desc"}, {"id", "deſc"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, field, order string) {
		sort, err := reservation.ParseSort(field, order)
		if err != nil {
			isRefusal(t, err)
			return
		}
		if known, ok := reservation.FieldOf(sort.Field); !ok || !known.Sort {
			t.Errorf("sorted by %q, which no index does", sort.Field)
		}
		word := "asc"
		if sort.Desc {
			word = "desc"
		}
		if again, err := reservation.ParseSort(sort.Field, word); err != nil || again != sort {
			t.Errorf("%+v became %+v, %v", sort, again, err)
		}
	})
}

// FuzzFieldsOf: the fields that are taken are those that were asked, each once, in
// their order.
func FuzzFieldsOf(f *testing.F) {
	for _, keys := range []string{"", "id", "id,code,guest_name", "id,id", "id,,code", "ID", "nope", strings.Join(reservation.DefaultFields(), ",")} {
		f.Add(keys)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		fields, err := reservation.FieldsOf(strings.Split(keys, ","))
		if err != nil {
			isRefusal(t, err)
			return
		}
		got, seen := make([]string, len(fields)), map[string]bool{}
		for i, field := range fields {
			got[i] = field.Key
			if seen[field.Key] {
				t.Errorf("%s comes twice", field.Key)
			}
			seen[field.Key] = true
		}
		if joined := strings.Join(got, ","); joined != keys {
			t.Errorf("asked %q, got %q", keys, joined)
		}
	})
}
