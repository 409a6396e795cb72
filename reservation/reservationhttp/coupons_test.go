package reservationhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/coupon"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// fakeCoupons takes 10 % off where the product's number is odd.
type fakeCoupons struct {
	err   error
	user  string
	at    time.Time
	items []coupon.Item
}

func (f *fakeCoupons) Prices(ctx context.Context, user string, at time.Time, items []coupon.Item) (offers []coupon.Offer, err error) {
	telemetry.StatementSent(ctx)
	f.user, f.at, f.items = user, at, items
	for _, item := range items {
		o := coupon.Offer{Item: item, Refused: []coupon.Refusal{{Rule: 2, Reason: coupon.Over}}}
		if item.Product%2 == 1 {
			o.Best = &coupon.Applied{Rule: 1, Code: "쿠폰<&>", Minor: item.Minor - item.Minor/10, Discount: item.Minor / 10}
		}
		offers = append(offers, o)
	}
	return offers, f.err
}

func serveCoupons(t *testing.T, f *fakeCoupons) (string, *safeBuffer) {
	t.Helper()
	log := new(safeBuffer)
	server := httptest.NewServer(NewServer(Config{Store: &fakeStore{}, Coupons: f, Token: testToken, Logger: telemetry.NewLogger(log, "text", slog.LevelDebug)}))
	t.Cleanup(server.Close)
	return server.URL + pathCoupons, log
}

func TestCouponPrices(t *testing.T) {
	f := new(fakeCoupons)
	url, log := serveCoupons(t, f)
	res, body := post(t, url, `{"user":"kim@example.com","at":"2026-11-30T21:00:00+09:00","products":[{"id":1,"price":"120.00","currency":"EUR"},{"id":2,"price":"15000","currency":"KRW"}]}`)
	want := `{"prices":[{"product_id":1,"price":"120.00","best":{"rule":1,"code":"쿠폰<&>","price":"108.00","discount":"12.00"},"refused":[{"rule":2,"reason":"over"}]},` +
		`{"product_id":2,"price":"15000","best":null,"refused":[{"rule":2,"reason":"over"}]}]}`
	if res.StatusCode != http.StatusOK || body != want || res.Header.Get("Content-Type") != typeJSON || parseStatements(res.Header.Get(headerTiming)) != 1 {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	if f.user != "kim@example.com" || !f.at.Equal(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%q at %v", f.user, f.at)
	}
	if diff := cmp.Diff([]coupon.Item{{Product: 1, Minor: 120_00, Currency: "EUR"}, {Product: 2, Minor: 15000, Currency: "KRW"}}, f.items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := time.Now()
	if res, body := post(t, url, `{"products":[{"currency":"EUR","price":"0","id":1}]}`); res.StatusCode != http.StatusOK || f.user != "" || f.at.Before(before) {
		t.Errorf("nobody, now: %d %s, %q at %v", res.StatusCode, body, f.user, f.at)
	}
	if strings.Contains(log.String(), "kim") || strings.Contains(log.String(), testToken) {
		t.Errorf("the log tells too much: %s", log)
	}
}

func products(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":%d,"price":"1.00","currency":"EUR"}`, i+1)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestCouponPricesOfAsManyAsThereMayBe(t *testing.T) {
	url, _ := serveCoupons(t, new(fakeCoupons))
	res, body := post(t, url, `{"products":`+products(coupon.MaxProducts)+`}`)
	var got struct{ Prices []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != http.StatusOK || len(got.Prices) != coupon.MaxProducts {
		t.Errorf("%d, %d prices, %v", res.StatusCode, len(got.Prices), err)
	}
}

func TestCouponPricesRefuse(t *testing.T) {
	one := func(product string) string { return `{"products":[` + product + `]}` }
	for name, x := range map[string]struct{ body, fields, detail string }{
		"no products":           {`{}`, "products", "at least one"},
		"an empty list":         {`{"products":[]}`, "products", "at least one"},
		"too many":              {`{"products":` + products(coupon.MaxProducts+1) + `}`, "products", "at most 500"},
		"twice the same":        {one(`{"id":3,"price":"1","currency":"EUR"},{"id":3,"price":"2","currency":"EUR"}`), "products[1].id", "asked twice"},
		"no id":                 {one(`{"price":"1","currency":"EUR"}`), "products[0].id", "missing"},
		"a negative id":         {one(`{"id":-1,"price":"1","currency":"EUR"}`), "products[0].id", "below 1"},
		"a text as id":          {one(`{"id":"1","price":"1","currency":"EUR"}`), "products", "is not a list"},
		"an unknown currency":   {one(`{"id":1,"price":"1","currency":"eur"}`), "products[0].currency", "not one of those"},
		"no currency":           {one(`{"id":1,"price":"1"}`), "products[0].currency", "not one of those"},
		"a negative price":      {one(`{"id":1,"price":"-0.01","currency":"EUR"}`), "products[0].price", "below 0"},
		"a price in floats":     {one(`{"id":1,"price":1.5,"currency":"EUR"}`), "products", "is not a list"},
		"too many decimals":     {one(`{"id":1,"price":"1.005","currency":"EUR"}`), "products[0].price", "2 decimals"},
		"too large":             {one(`{"id":1,"price":"1000000000000.01","currency":"EUR"}`), "products[0].price", "too large"},
		"no price":              {one(`{"id":1,"currency":"EUR"}`), "products[0].price", "decimal number"},
		"a member too many":     {one(`{"id":1,"price":"1","currency":"EUR","discount":"1"}`), "products", "is not a list"},
		"a long user":           {`{"user":"` + strings.Repeat("x", 256) + `","products":` + products(1) + `}`, "user", "255 bytes"},
		"a user of controls":    {`{"user":"a\u0000","products":` + products(1) + `}`, "user", "control"},
		"a user that is a list": {`{"user":["a"],"products":` + products(1) + `}`, "user", "is not a text"},
		"no time":               {`{"at":"yesterday","products":` + products(1) + `}`, "at", "2006-01-02T15:04:05Z"},
		"a far time":            {`{"at":"9999-12-31T00:00:00Z","products":` + products(1) + `}`, "at", "years"},
		"a member of no use":    {`{"users":"a","products":` + products(1) + `}`, "users", "no member"},
		"no JSON":               {`{"products":`, "body", "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			f := new(fakeCoupons)
			url, _ := serveCoupons(t, f)
			res, body := post(t, url, x.body)
			p := readSent(t, res, body)
			if res.StatusCode != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Name != x.fields || !strings.Contains(p.Errors[0].Detail, x.detail) || f.items != nil {
				t.Errorf("%d %+v, want %s: %s", res.StatusCode, p, x.fields, x.detail)
			}
		})
	}
	url, _ := serveCoupons(t, new(fakeCoupons))
	res, body := post(t, url, `{"products":[`+strings.Repeat(`{"id":0},`, 400)+`{"id":0}]}`)
	if p := readSent(t, res, body); len(p.Errors) != maxWrong {
		t.Errorf("%d members are named", len(p.Errors))
	}
}

func TestCouponPricesFailInWords(t *testing.T) {
	question := `{"user":"kim@example.com","products":` + products(1) + `}`
	f := &fakeCoupons{err: fault.Wrap(errors.New("dial tcp 10.0.0.1"), fault.Unavailable, "There are no coupon prices: Redis does not answer. Please try again.")}
	url, log := serveCoupons(t, f)
	res, body := post(t, url, question)
	if p := readSent(t, res, body); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(p.Detail, "Redis does not answer") || strings.Contains(body, "10.0.0.1") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if text := log.String(); !strings.Contains(text, "10.0.0.1") || strings.Contains(text, "kim") {
		t.Errorf("log: %s", text)
	}
	base, _ := serve(t, &fakeStore{})
	if res, _ := post(t, base+pathCoupons, question); res.StatusCode != http.StatusNotFound {
		t.Errorf("a server without coupons: %d", res.StatusCode)
	}
	if res, _ := send(t, "POST", url, question); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", res.StatusCode)
	}
}

func TestCouponPricesAreCountedAsCalls(t *testing.T) {
	answered := make(chan string, 1)
	server := httptest.NewServer(NewServer(Config{
		Store: &fakeStore{}, Coupons: new(fakeCoupons), Token: testToken, Logger: slog.New(slog.DiscardHandler),
		Answered: func(operation string, status int, _ time.Duration) { answered <- fmt.Sprint(operation, " ", status) },
	}))
	defer server.Close()
	_, _ = post(t, server.URL+pathCoupons, `{"user":"kim@example.com","products":[{"id":1,"price":"120.00","currency":"EUR"}]}`)
	if got := <-answered; got != "reservations-coupon-prices 200" {
		t.Errorf("counted: %s", got)
	}
}
