package reservation_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

var sameValue = cmp.Comparer(func(a, b table.Value) bool { return a == b })

func TestParseFilter(t *testing.T) {
	one := func(field string, op reservation.Op, values ...table.Value) reservation.Filter {
		return reservation.Filter{Conditions: []reservation.Condition{{Field: field, Op: op, Values: values}}}
	}
	for _, x := range []struct {
		name, value string
		want        reservation.Filter
	}{
		{"status", "Canceled", one("status", reservation.Equal, table.TextOf("Canceled"))},
		{"status", "", one("status", reservation.Equal, table.TextOf(""))},
		{"status_ne", "Canceled", one("status", reservation.NotIn, table.TextOf("Canceled"))},
		{"status_date", "2024-02-29", one("status_date", reservation.Equal, table.DateOf(19782))},
		{"status_date_gte", "1969-12-31", one("status_date", reservation.AtLeast, table.DateOf(-1))},
		{"code", "00000012", one("code", reservation.Equal, table.TextOf("00000012"))},
		{"code_like", "0000", one("code", reservation.Prefix, table.TextOf("0000"))},
		{"guest_name_like", "김%_", one("guest_name", reservation.Prefix, table.TextOf("김%_"))},
		{"id", "9223372036854775807", one("id", reservation.Equal, table.IntegerOf(9223372036854775807))},
		{"id_gte", "-9223372036854775808", one("id", reservation.AtLeast, table.IntegerOf(-9223372036854775808))},
		{"amount", "12", one("amount", reservation.Equal, table.DecimalOf(1200, 2))},
		{"amount_gte", "-0.5", one("amount", reservation.AtLeast, table.DecimalOf(-50, 2))},
		{"amount_lte", "0.10", one("amount", reservation.AtMost, table.DecimalOf(10, 2))},
		{"updated_at_lte", "2024-01-01T09:00:00+09:00", one("updated_at", reservation.AtMost, table.TimeOf(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)))},
		{"paid_at_gte", "2024-01-01T00:00:00.000001Z", one("paid_at", reservation.AtLeast, table.TimeOfMicro(1704067200000001))},
		{"repeated_guest", "true", one("repeated_guest", reservation.Equal, table.BoolOf(true))},
		{"repeated_guest_ne", "0", one("repeated_guest", reservation.NotIn, table.BoolOf(false))},
		{"canceled_on_null", "false", one("canceled_on", reservation.IsNull, table.BoolOf(false))},
		{"amount_null", "true", one("amount", reservation.IsNull, table.BoolOf(true))},
		{"q", "김", reservation.Filter{Search: "김"}},
	} {
		t.Run(x.name+"="+x.value, func(t *testing.T) {
			got, err := reservation.ParseFilter(map[string][]string{x.name: {x.value}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.want, got, sameValue); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseFilterOfNothing(t *testing.T) {
	for _, params := range []map[string][]string{nil, {}, {"status": nil, "q": {}}} {
		got, err := reservation.ParseFilter(params)
		if err != nil || got.Search != "" || len(got.Conditions) != 0 {
			t.Errorf("%v: %+v, %v", params, got, err)
		}
	}
}

func TestParseFilterNamesWhatIsWrong(t *testing.T) {
	for _, x := range []struct{ name, value, detail string }{
		{"secret", "x", `there is no field "secret"`},
		{"secret_gte", "x", `there is no field "secret_gte"`},
		{"_gte", "x", `there is no field "_gte"`},
		{"", "x", `there is no field ""`},
		{"STATUS", "x", `there is no field "STATUS"`},
		{"id; DROP TABLE x", "1", `there is no field`},
		{"check_in_gt", "2024-01-01", `there is no operator "_gt"`},
		{"check_in_in", "2024-01-01", `there is no operator "_in"`},
		{"status_gte", "a", "a range is for dates and numbers"},
		{"code_lte", "1", "a range is for dates and numbers"},
		{"repeated_guest_gte", "true", "a range is for dates and numbers"},
		{"memo_like", "a", "has no text search"},
		{"id_like", "1", "has no text search"},
		{"id", "", "not a whole number"},
		{"id", "1.0", "not a whole number"},
		{"id", " 1", "not a whole number"},
		{"id", "0x10", "not a whole number"},
		{"id", "9223372036854775808", "not a whole number"},
		{"amount", "", "at most 2 places"},
		{"amount", "0.123", "at most 2 places"},
		{"amount", "1e3", "at most 2 places"},
		{"amount", ".5", "at most 2 places"},
		{"amount", "5.", "at most 2 places"},
		{"amount", "1,000", "at most 2 places"},
		{"amount", "NaN", "at most 2 places"},
		{"amount", "999999999999999999", "at most 2 places"},
		{"amount", "1234567890123456789", "at most 2 places"},
		{"check_in", "", "a date as"},
		{"check_in", "2023-02-29", "a date as"},
		{"check_in", "0000-00-00", "a date as"},
		{"check_in", "2024-1-1", "a date as"},
		{"check_in", "2024-01-01T00:00:00Z", "a date as"},
		{"updated_at", "2024-01-01", "a time as"},
		{"updated_at", "2024-01-01 00:00:00", "a time as"},
		{"repeated_guest", "yes", "true or false"},
		{"memo_null", "", "true or false"},
		{"memo_null", "null", "true or false"},
		{"status", strings.Repeat("x", reservation.MaxText+1), "too long"},
		{"status", "a\xff", "text in UTF-8"},
		{"q", strings.Repeat("x", reservation.MaxSearch+1), "at most 100 bytes"},
		{"q", "\xed\xa0\x80", "in UTF-8"},
	} {
		t.Run(x.name+"="+x.value, func(t *testing.T) {
			_, err := reservation.ParseFilter(map[string][]string{x.name: {x.value}})
			wantInvalid(t, err, x.name, x.detail)
		})
	}
}

func wantInvalid(t *testing.T, err error, name, detail string) {
	t.Helper()
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Invalid || len(f.Fields) != 1 {
		t.Fatalf("got %v", err)
	}
	if f.Fields[0].Name != name || !strings.Contains(f.Fields[0].Detail, detail) {
		t.Errorf("got %+v, want %q: ...%s...", f.Fields[0], name, detail)
	}
}

func TestParseFilterBounds(t *testing.T) {
	many := make([]string, reservation.MaxValues+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if f, err := reservation.ParseFilter(map[string][]string{"id": many[1:]}); err != nil || len(f.Conditions[0].Values) != reservation.MaxValues {
		t.Errorf("the most values: %v", err)
	}
	_, err := reservation.ParseFilter(map[string][]string{"id": many})
	wantInvalid(t, err, "id", "1000 are allowed")
	full := map[string][]string{}
	for _, name := range []string{"id", "id_ne", "nights", "adults", "children"} {
		full[name] = many[1:]
	}
	if _, err := reservation.ParseFilter(full); err != nil {
		t.Errorf("the most values of all: %v", err)
	}
	full["babies"] = []string{"1"}
	_, err = reservation.ParseFilter(full)
	wantInvalid(t, err, "filter", "5000 are allowed")
	for _, text := range []string{"0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"} { // years -1 and 10000
		_, err := reservation.ParseFilter(map[string][]string{"paid_at": {text}})
		wantInvalid(t, err, "paid_at", "is not a time")
	}
	for _, name := range []string{"check_in_gte", "check_in_lte", "code_like", "memo_null"} {
		_, err := reservation.ParseFilter(map[string][]string{name: {"2024-01-01", "2024-01-02"}})
		wantInvalid(t, err, name, "takes one value")
	}
	_, err = reservation.ParseFilter(map[string][]string{"q": {"a", "b"}})
	wantInvalid(t, err, "q", "takes one text")

	params := map[string][]string{}
	for _, f := range reservation.StoredFields() {
		params[f.Key+"_null"] = []string{"true"}
		if f.Type == table.Integer {
			params[f.Key] = []string{"1"}
		}
	}
	if len(params) <= reservation.MaxConditions {
		t.Fatalf("only %d conditions", len(params))
	}
	_, err = reservation.ParseFilter(params)
	wantInvalid(t, err, "filter", "50 are allowed")
}

func TestParseFilterNamesEveryWrongParameterInOrder(t *testing.T) {
	_, err := reservation.ParseFilter(map[string][]string{"z": {"1"}, "a": {"1"}, "status": {"ok"}, "check_in": {"soon"}})
	f, _ := fault.As(err)
	if f == nil {
		t.Fatal("no fault")
	}
	var names []string
	for _, field := range f.Fields {
		names = append(names, field.Name)
	}
	if diff := cmp.Diff([]string{"a", "check_in", "z"}, names); diff != "" {
		t.Error(diff)
	}
}

// A filter survives the trip through its dialect, whatever it is made of.
func TestParamsRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		first, err := reservation.ParseFilter(randomParams(r))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		second, err := reservation.ParseFilter(first.Params())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(first, second, sameValue); diff != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}

func randomParams(r *rand.Rand) map[string][]string {
	fields := reservation.StoredFields()
	params := map[string][]string{}
	if r.IntN(2) == 0 {
		params["q"] = []string{"김 %_\"\\"}
	}
	for range r.IntN(20) {
		f := fields[r.IntN(len(fields))]
		ops := f.Operators()
		op := ops[r.IntN(len(ops))]
		name, n := f.Key, 1
		if op != reservation.Equal {
			name += "_" + string(op)
		}
		if op == reservation.Equal || op == reservation.NotIn {
			n += r.IntN(4)
		}
		params[name] = nil
		for range n {
			params[name] = append(params[name], randomParam(r, f, op))
		}
	}
	return params
}

func randomParam(r *rand.Rand, f reservation.Field, op reservation.Op) string {
	if op == reservation.IsNull {
		return fmt.Sprint(r.IntN(2) == 0)
	}
	at := time.UnixMicro(r.Int64N(4e15) - 2e15).UTC()
	switch f.Type {
	case table.Integer:
		return fmt.Sprint(int64(r.Uint64()))
	case table.Decimal:
		return fmt.Sprintf("%d.%02d", r.IntN(2e9)-1e9, r.IntN(100))
	case table.Date:
		return at.Format(time.DateOnly)
	case table.Time:
		return at.Format(time.RFC3339Nano)
	case table.Bool:
		return []string{"true", "false", "1", "f"}[r.IntN(4)]
	}
	return []string{"", "a", "00123", "가나 다", "true", "_gte", "a,b&c=d", "\x00"}[r.IntN(8)]
}

func TestParseSort(t *testing.T) {
	for _, x := range []struct {
		field, order string
		want         reservation.Sort
	}{
		{"", "", reservation.DefaultSort},
		{"", "DESC", reservation.Sort{Field: "id", Desc: true}},
		{"check_in", "", reservation.Sort{Field: "check_in"}},
		{"check_in", "asc", reservation.Sort{Field: "check_in"}},
		{"updated_at", "Desc", reservation.Sort{Field: "updated_at", Desc: true}},
	} {
		if got, err := reservation.ParseSort(x.field, x.order); err != nil || got != x.want {
			t.Errorf("%q %q: %+v, %v", x.field, x.order, got, err)
		}
	}
	for _, x := range []struct{ field, order, name, detail string }{
		{"secret", "", "_sort", `there is no field "secret"`},
		{"memo", "asc", "_sort", "cannot be sorted by; these can: id, code"},
		{"id,code", "asc", "_sort", "there is no field"},
		{"id", "up", "_order", "neither asc nor desc"},
	} {
		_, err := reservation.ParseSort(x.field, x.order)
		wantInvalid(t, err, x.name, x.detail)
	}
}

func TestComputedFieldsCannotBeSelectedOrSortedBy(t *testing.T) {
	for _, key := range []string{reservation.BestCoupon, reservation.CouponPrice} {
		f, ok := reservation.FieldOf(key)
		if !ok || !f.Computed() || f.Sort || len(f.Operators()) > 0 {
			t.Errorf("%+v with %v", f, f.Operators())
		}
		for _, suffix := range []string{"", "_ne", "_gte", "_lte", "_like", "_null"} {
			_, err := reservation.ParseFilter(map[string][]string{key + suffix: {"1"}})
			wantInvalid(t, err, key+suffix, "worked out")
		}
		_, err := reservation.ParseSort(key, "asc")
		wantInvalid(t, err, "_sort", "cannot be sorted by")
	}
	if n := len(reservation.Fields()) - len(reservation.StoredFields()); n != 2 {
		t.Errorf("%d fields are computed", n)
	}
}
