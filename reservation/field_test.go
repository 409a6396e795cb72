package reservation_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

func TestCatalogIsSound(t *testing.T) {
	key := regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`)
	seen := map[string]bool{}
	places := map[string]string{}
	titles := map[string]string{}
	for _, f := range reservation.Fields() {
		if !key.MatchString(f.Key) || seen[f.Key] {
			t.Errorf("key %q is malformed or there twice", f.Key)
		}
		seen[f.Key] = true
		place := string(f.Part) + "." + f.Column
		if f.Part == "" || f.Column == "" || places[place] != "" {
			t.Errorf("%s: its place %q is not its own (%s)", f.Key, place, places[place])
		}
		places[place] = f.Key
		for _, title := range []string{"ko " + f.Titles.Korean, "en " + f.Titles.English} {
			if len(title) == 3 || titles[title] != "" {
				t.Errorf("%s: title %q is empty or that of %s", f.Key, title, titles[title])
			}
			titles[title] = f.Key
		}
		if f.Width < 1 || f.Width > 255 { // 255 is the widest that a sheet takes
			t.Errorf("%s: width %v", f.Key, f.Width)
		}
		if (f.Type == table.Decimal) != (f.Scale > 0) {
			t.Errorf("%s: a %s of scale %d", f.Key, f.Type, f.Scale)
		}
		if f.Prefix && f.Type != table.Text && f.Type != table.Code {
			t.Errorf("%s: text search in a %s", f.Key, f.Type)
		}
		if f.Sort && f.Part != reservation.Main {
			t.Errorf("%s: a sort by a part has no index", f.Key)
		}
	}
}

// "field_gte" must mean one thing only.
func TestNoKeyReadsAsAnotherWithAnOperator(t *testing.T) {
	for _, f := range reservation.Fields() {
		for _, suffix := range []string{"_gte", "_lte", "_ne", "_like", "_null"} {
			if strings.HasSuffix(f.Key, suffix) {
				t.Errorf("key %q ends like an operator", f.Key)
			}
		}
		if f.Key == "q" {
			t.Error("a field hides the search")
		}
	}
}

func TestDefaultsExist(t *testing.T) {
	defaults := reservation.DefaultFields()
	if len(defaults) != 25 {
		t.Errorf("%d defaults", len(defaults))
	}
	fields, err := reservation.FieldsOf(defaults)
	if err != nil || len(fields) != len(defaults) {
		t.Errorf("%d fields, %v", len(fields), err)
	}
	if f, ok := reservation.FieldOf(reservation.DefaultSort.Field); !ok || !f.Sort {
		t.Error("the default sort is none")
	}
}

func TestCatalogCannotBeChangedFromOutside(t *testing.T) {
	reservation.Fields()[0].Key = "broken"
	reservation.DefaultFields()[0] = "broken"
	if reservation.Fields()[0].Key != "id" || reservation.DefaultFields()[0] != "id" {
		t.Error("it was changed")
	}
}

func TestFieldOf(t *testing.T) {
	f, ok := reservation.FieldOf("guest_name")
	if !ok || f.Part != reservation.PartGuest || f.Column != "name" || !f.Prefix {
		t.Errorf("got %+v, %v", f, ok)
	}
	if f, ok := reservation.FieldOf("secret"); ok || f != (reservation.Field{}) {
		t.Errorf("got %+v, %v", f, ok)
	}
}

func TestOperators(t *testing.T) {
	any3 := []reservation.Op{reservation.Equal, reservation.NotIn, reservation.IsNull}
	ranged := []reservation.Op{reservation.Equal, reservation.NotIn, reservation.AtLeast, reservation.AtMost, reservation.IsNull}
	prefixed := []reservation.Op{reservation.Equal, reservation.NotIn, reservation.Prefix, reservation.IsNull}
	for key, want := range map[string][]reservation.Op{
		"memo": any3, "repeated_guest": any3, "company": any3, "id": ranged, "amount": ranged, "check_in": ranged, "paid_at": ranged, "code": prefixed, "guest_name": prefixed,
	} {
		f, _ := reservation.FieldOf(key)
		if diff := cmp.Diff(want, f.Operators()); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestFieldsOf(t *testing.T) {
	fields, err := reservation.FieldsOf([]string{"memo", "id"})
	if err != nil || len(fields) != 2 || fields[0].Key != "memo" || fields[1].Key != "id" {
		t.Errorf("got %+v, %v", fields, err)
	}
	for _, x := range []struct {
		keys []string
		want []string
	}{
		{nil, []string{"name at least one field"}},
		{[]string{"secret"}, []string{`there is no field "secret"`}},
		{[]string{"id", "x", "id", "x"}, []string{`there is no field "x"`, `field "id" is asked twice`, `there is no field "x"`}},
	} {
		_, err := reservation.FieldsOf(x.keys)
		f, _ := fault.As(err)
		if f == nil || f.Kind != fault.Invalid {
			t.Fatalf("%v: %v", x.keys, err)
		}
		var details []string
		for _, field := range f.Fields {
			details = append(details, field.Detail)
		}
		if diff := cmp.Diff(x.want, details); diff != "" {
			t.Error(diff)
		}
	}
}
