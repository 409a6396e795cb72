package coupon_test

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rowmill/coupon"
	"rowmill/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckNamesAllThatIsWrongWithARule(t *testing.T) {
	tests := []struct {
		name   string
		change func(*coupon.Rule)
		want   string // the fields, in order
	}{
		{"right", nil, ""},
		{"a currency of its own", func(r *coupon.Rule) { r.Currency = "KRW" }, ""},
		{"no id", func(r *coupon.Rule) { r.ID = 0 }, "id"},
		{"no code", func(r *coupon.Rule) { r.Code = "" }, "code"},
		{"a long code", func(r *coupon.Rule) { r.Code = strings.Repeat("x", coupon.MaxCode+1) }, "code"},
		{"no kind", func(r *coupon.Rule) { r.Kind = "gift" }, "kind"},
		{"a rate of nothing", func(r *coupon.Rule) { r.Value = 0 }, "value"},
		{"more than all", func(r *coupon.Rule) { r.Value = coupon.MaxRate + 1 }, "value"},
		{"a negative amount", func(r *coupon.Rule) { r.Kind, r.Value, r.Currency = coupon.Fixed, -1, "EUR" }, "value"},
		{"an amount without currency", func(r *coupon.Rule) { r.Kind = coupon.Fixed }, "currency"},
		{"a cap without currency", func(r *coupon.Rule) { r.Cap = 1 }, "currency"},
		{"a minimum without currency", func(r *coupon.Rule) { r.Minimum = 1 }, "currency"},
		{"an unknown currency", func(r *coupon.Rule) { r.Currency = "XYZ" }, "currency"},
		{"a cap of an amount", func(r *coupon.Rule) { r.Kind, r.Currency, r.Cap = coupon.Fixed, "EUR", 5 }, "cap"},
		{"below nothing", func(r *coupon.Rule) { r.Currency, r.Cap, r.Minimum, r.Stock = "EUR", -1, -1, -1 }, "cap minimum stock"},
		{"no window", func(r *coupon.Rule) { r.Until = r.From }, "until"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := rule(1, test.change).Check()
			var names []string
			if f, ok := fault.As(err); ok {
				for _, field := range f.Fields {
					names = append(names, field.Name)
				}
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != test.want || (err != nil) != (test.want != "") {
				t.Errorf("%q is wrong, want %q: %v", got, test.want, err)
			}
		})
	}
}

func TestPricesAreReadExactlyOrNotAtAll(t *testing.T) {
	for _, x := range []struct {
		price, currency string
		want            int64
		detail          string
	}{
		{"120.00", "EUR", 120_00, ""}, {"120", "EUR", 120_00, ""}, {"0.1", "USD", 10, ""}, {"0", "EUR", 0, ""}, {"0.00", "EUR", 0, ""},
		{"15000", "KRW", 15000, ""}, {"1000000000000.00", "EUR", coupon.MaxMinor, ""}, {"100000000000000", "JPY", coupon.MaxMinor, ""},
		{"1000000000000.01", "EUR", 0, "too large"}, {"100000000000001", "JPY", 0, "too large"}, {"99999999999999999999999999", "EUR", 0, "too large"},
		{"1.005", "EUR", 0, "decimals"}, {"1.5", "KRW", 0, "decimals"}, {"-0.01", "EUR", 0, "below 0"}, {"-1", "KRW", 0, "below 0"},
		{"", "EUR", 0, "not a decimal"}, {"1,20", "EUR", 0, "not a decimal"}, {"1e3", "EUR", 0, "not a decimal"}, {"NaN", "EUR", 0, "not a decimal"}, {" 1", "EUR", 0, "not a decimal"},
	} {
		got, detail := coupon.ParseMinor(x.price, x.currency)
		if got != x.want || (detail == "") != (x.detail == "") || !strings.Contains(detail, x.detail) {
			t.Errorf("%s %s: %d, %q; want %d, %q", x.price, x.currency, got, detail, x.want, x.detail)
		}
	}
	for _, currency := range coupon.Currencies() {
		for _, n := range []int64{0, 1, 9, 10, 99, 100, 123_456, coupon.MaxMinor} {
			text := string(coupon.AppendMinor(nil, n, currency))
			if got, detail := coupon.ParseMinor(text, currency); got != n || detail != "" {
				t.Errorf("%d %s is written %q and read %d, %q", n, currency, text, got, detail)
			}
		}
	}
}

func TestOwnersTellNothingOfTheUser(t *testing.T) {
	user := "kim@example.com"
	owner := coupon.OwnerOf(user)
	if len(owner) != 32 || strings.ContainsAny(owner, "{}@") || strings.Contains(owner, "kim") || owner == coupon.OwnerOf("lee@example.com") || owner != coupon.OwnerOf(user) {
		t.Errorf("owner %q", owner)
	}
	if coupon.OwnerOf("") != "" {
		t.Error("nobody owns something")
	}
	for user, right := range map[string]bool{"": true, "김": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, "a\x00": false, "a\nb": false, "\xff": false} {
		if (coupon.CheckUser(user) == "") != right {
			t.Errorf("user %q: %s", user, coupon.CheckUser(user))
		}
	}
}
