package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"rowmill/internal/config"
	"rowmill/internal/exportclient"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

// The columns of the list and of a file, and the API's own prices, say the same.
func TestCouponPricesInTheListAFileAndTheAPI(t *testing.T) {
	const rows = 60
	a, c := boot(t, rows, nil)
	var list []struct {
		ID        int64   `json:"id"`
		ProductID int64   `json:"product_id"`
		Amount    string  `json:"amount"`
		Currency  string  `json:"currency"`
		Best      *string `json:"best_coupon"`
		Price     *string `json:"coupon_price"`
	}
	got := call(t, a, "GET", "/api/v1/reservations?_start=0&_end=60&_fields=id,product_id,amount,currency,best_coupon,coupon_price", "")
	if err := json.Unmarshal(got.body, &list); err != nil || len(list) != rows {
		t.Fatalf("%v, %d rows: %.300s", err, len(list), got.body)
	}
	file := fileText(t, c, exportclient.Order{Format: "csv", Language: "en", Columns: []string{"id", "best_coupon", "coupon_price"}})
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll()
	if err != nil || len(lines) != rows+1 || lines[0][1] != "Best coupon" || lines[0][2] != "Coupon price" {
		t.Fatalf("%v, %d lines, %v", err, len(lines), lines[0])
	}
	priced := 0
	for i, r := range list {
		best, price := "", ""
		if r.Best != nil {
			best, price = *r.Best, *r.Price
			priced++
		}
		if lines[i+1][1] != best || lines[i+1][2] != price {
			t.Errorf("row %d: the list has %q %q, the file %v", r.ID, best, price, lines[i+1])
		}
		asked, err := json.Marshal(map[string]any{"products": []any{map[string]any{"id": r.ProductID, "price": strings.TrimPrefix(r.Amount, "-"), "currency": r.Currency}}})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Prices []struct {
				Best *struct{ Code, Price string }
			}
		}
		if status, body := internal(t, a, string(asked)); status != 200 || json.Unmarshal(body, &answer) != nil || len(answer.Prices) != 1 {
			t.Fatalf("%d %s", status, body)
		}
		if b := answer.Prices[0].Best; b == nil && best != "" || b != nil && (b.Code != best || b.Price != price) {
			t.Errorf("row %d: the list has %q %q, the API %+v", r.ID, best, price, b)
		}
	}
	if priced == 0 || priced == rows {
		t.Errorf("%d of %d rows have a coupon", priced, rows)
	}
	if got := call(t, a, "GET", "/api/v1/reservations?_start=0&_end=5&best_coupon=STAY10", ""); got.status != 400 {
		t.Errorf("a filter by a computed field: %d %s", got.status, got.body)
	}
}

const aQuestion = `{"user":"member-1","products":[{"id":1,"price":"400.00","currency":"EUR"},{"id":16,"price":"400.00","currency":"EUR"}]}`

// With nothing configured the prices come by the Redis inside the process.
func TestCouponPricesOfAProcessThatNeedsNoOther(t *testing.T) {
	a, _ := boot(t, 10, func(c *config.Config) { c.MySQLDSN, c.RedisURL = "", "" })
	status, body := internal(t, a, aQuestion)
	if text := string(body); status != 200 || !strings.Contains(text, `{"product_id":1,"price":"400.00","best":{"rule":5,"code":"FIRST100","price":"320.00","discount":"80.00"},`+
		`"refused":[{"rule":4,"reason":"below-minimum"},{"rule":8,"reason":"currency"}]}`) ||
		!strings.Contains(text, `{"product_id":16,"price":"400.00","best":null,"refused":[{"rule":1,"reason":"excluded-product"}`) {
		t.Errorf("%d %s", status, body)
	}
}

// A reservations role without a Redis has no coupon prices, and all else.
func TestWithoutARedisTheReservationsRoleHasAllButCouponPrices(t *testing.T) {
	a, _ := boot(t, 10, func(c *config.Config) { c.Roles, c.RedisURL = []string{string(config.Reservations)}, "" })
	status, body := internal(t, a, aQuestion)
	if status != 503 || !strings.Contains(string(body), "this server has no Redis") {
		t.Errorf("%d %s", status, body)
	}
	for _, x := range []struct {
		keys []string
		kind fault.Kind
	}{{[]string{"id", "amount"}, 0}, {[]string{"id", reservation.BestCoupon}, fault.Unavailable}} {
		fields, err := reservation.FieldsOf(x.keys)
		if err != nil {
			t.Fatal(err)
		}
		list, err := a.client.List(t.Context(), reservation.Query{Sort: reservation.DefaultSort}, reservation.Window{Limit: 5}, fields, false)
		if (err != nil) != (x.kind != 0) || err == nil && len(list.Rows) != 5 || err != nil && fault.KindOf(err) != x.kind {
			t.Errorf("%v: %d rows, %v", x.keys, len(list.Rows), err)
		}
	}
}

func TestBenchCouponPrintsMarkdown(t *testing.T) {
	out, _ := rowmill(t.Context(), t, 0, "bench", "coupon", "--products=3", "--rules=4", "--calls=1", "--rtt=0s")
	has(t, "the bench", out, "| rung |", "| 3 |", "the product")
	out, _ = rowmill(t.Context(), t, 0, "bench", "coupon", "--products=3", "--rules=4", "--calls=1", "--rtt=0s", "--json")
	has(t, "the bench's JSON", out, `"redis_round_trips": 1`)
}

// internal asks the reservation API for coupon prices.
func internal(t *testing.T, a *app, body string) (status int, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.reservations.url()+"/internal/v1/coupon-prices", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.cfg.ServiceToken)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}
