package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/gateway"
	"rowmill/internal/table"
	"rowmill/reservation"
)

const listPath = "/api/v1/reservations"

func TestListWindows(t *testing.T) {
	for _, c := range []struct {
		query  string
		offset int64
		limit  int
	}{
		{"_start=0&_end=25", 0, 25},
		{"_start=50&_end=75", 50, 25},
		{"_end=5000", 0, 5000},
		{"_start=10&_limit=20", 10, 20},
		{"_limit=7", 0, 7},
		{"_page=3", 20, 10},
		{"_page=3&_limit=50", 100, 50},
		{"_page=26000&_limit=100", 2_599_900, 100}, // one bounded call, however far
	} {
		t.Run(c.query, func(t *testing.T) {
			w := newWorld(t, nil)
			w.reservations.total = 3_000_000
			rec := w.call("GET", listPath+"?"+c.query, "")
			if rec.Code != 200 || rec.Header().Get("X-Total-Count") != "3000000" {
				t.Fatalf("%d, X-Total-Count %q", rec.Code, rec.Header().Get("X-Total-Count"))
			}
			if d := cmp.Diff([]reservation.Window{{Offset: c.offset, Limit: c.limit}}, w.reservations.windows); d != "" {
				t.Error(d)
			}
			if !strings.Contains(rec.Header().Get("Access-Control-Expose-Headers"), "X-Total-Count") {
				t.Error("a browser's page cannot read the total")
			}
		})
	}
}

func TestNoRowIsLeftOutSilently(t *testing.T) {
	w := newWorld(t, nil)
	w.reservations.total = 5000
	if rows := decode[[]any](t, w.call("GET", listPath, "").Body); len(rows) != 5000 {
		t.Errorf("a list without a page gave %d of 5000 rows", len(rows))
	}
	w.reservations.total = 5001
	p := wantProblem(t, w.call("GET", listPath, ""), 400, "invalid")
	if !strings.Contains(p.Detail, "5001 reservations match") || !strings.Contains(p.Detail, "at most 5000") {
		t.Errorf("the refusal does not say the cap: %s", p.Detail)
	}
	for _, c := range []struct{ query, name, says string }{
		{"_start=0&_end=5001", "_end", "1 to 5000"},
		{"_limit=5001", "_limit", "1 to 5000"},
		{"_start=5&_end=5", "_end", "0 rows"},
		{"_start=6&_end=5", "_end", "-1 rows"},
		{"_limit=0", "_limit", "0 rows"},
		{"_page=0", "_page", "from 1 on"},
		{"_page=9223372036854775807", "_page", "too far"},
		{"_start=-1&_end=5", "_start", "from 0 on"},
		{"_start=a&_end=5", "_start", "whole number"},
		{"_start=5", "_start", "needs _end or _limit"},
		{"_page=1&_start=5&_end=9", "_page", "one or the other"},
		{"_end=5&_limit=5", "_limit", "one or the other"},
		{"_end=5&_end=6", "_end", "2 times"},
	} {
		p := wantProblem(t, w.call("GET", listPath+"?"+c.query, ""), 400, "invalid")
		if got := messages(p)[c.name]; !strings.Contains(got, c.says) {
			t.Errorf("%s: %s is said to be %q", c.query, c.name, got)
		}
	}
}

func TestPastTheEndIsAnEmptyList(t *testing.T) {
	rec := newWorld(t, nil).call("GET", listPath+"?_start=100&_end=110", "")
	if rec.Code != 200 || rec.Body.String() != "[]" || rec.Header().Get("X-Total-Count") != "100" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestWrongListParametersAreAllNamed(t *testing.T) {
	w := newWorld(t, nil)
	p := wantProblem(t, w.call("GET", listPath+"?_end=5&colour=red&_sort=memo&_fields=id,nope&nights_gte=x&status_gt=1&_expand=guest", ""), 400, "invalid")
	got := messages(p)
	for _, name := range []string{"colour", "_sort", "_fields", "nights_gte", "status_gt", "_expand"} {
		if got[name] == "" {
			t.Errorf("%s is not named", name)
		}
	}
	if len(w.reservations.windows) != 0 {
		t.Error("a wrong list was asked for")
	}
}

// The requests are those that ra-data-json-server and refine's simple-rest send.
func TestClientsOfTheDialect(t *testing.T) {
	in := func(ids ...int64) reservation.Filter {
		c := reservation.Condition{Field: "id", Op: reservation.Equal}
		for _, id := range ids {
			c.Values = append(c.Values, table.IntegerOf(id))
		}
		return reservation.Filter{Conditions: []reservation.Condition{c}}
	}
	status := reservation.Filter{Conditions: []reservation.Condition{{Field: "status", Op: reservation.Equal, Values: []table.Value{table.TextOf("Canceled")}}}}
	for _, c := range []struct {
		name, query string
		want        reservation.Query
	}{
		{"react-admin getList", "_end=25&_order=ASC&_sort=id&_start=0", reservation.Query{Sort: reservation.Sort{Field: "id"}}},
		{"react-admin getList, filtered", "_end=25&_order=DESC&_sort=check_in&_start=0&status=Canceled", reservation.Query{Filter: status, Sort: reservation.Sort{Field: "check_in", Desc: true}}},
		{"react-admin getMany", "id=3&id=1", reservation.Query{Filter: in(3, 1), Sort: reservation.DefaultSort}},
		{"refine getList", "_end=10&_order=desc&_sort=check_in&_start=0&status=Canceled", reservation.Query{Filter: status, Sort: reservation.Sort{Field: "check_in", Desc: true}}},
		{"refine search", "_end=10&_start=0&q=Kim", reservation.Query{Filter: reservation.Filter{Search: "Kim"}, Sort: reservation.DefaultSort}},
		{"refine getMany", "id=7&id=999", reservation.Query{Filter: in(7, 999), Sort: reservation.DefaultSort}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			if rec := w.call("GET", listPath+"?"+c.query, ""); rec.Code != 200 {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			if d := cmp.Diff([]reservation.Query{c.want}, w.reservations.queries, cmp.AllowUnexported(table.Value{}), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("getMany gives the rows", func(t *testing.T) {
		rec := newWorld(t, nil).call("GET", listPath+"?id=3&id=1&id=999&_fields=id", "")
		if got := rec.Body.String(); got != `[{"id":3},{"id":1}]` || rec.Header().Get("X-Total-Count") != "2" {
			t.Errorf("%s of %s", got, rec.Header().Get("X-Total-Count"))
		}
	})
}

func TestValuesKeepEveryDigit(t *testing.T) {
	w := newWorld(t, nil)
	const big = 352776136104522888
	w.reservations.total = big
	rec := w.call("GET", fmt.Sprintf("%s?id=%d&_fields=code,guest_name,amount,check_in,check_out,updated_at,repeated_guest,memo", listPath, big), "")
	want := `[{"id":352776136104522888,"code":"00000042","guest_name":"김\"영희` + `\ufffd` + `","amount":"0.10","check_in":"2024-10-04",` +
		`"check_out":null,"updated_at":"2023-11-14T22:13:20.123456Z","repeated_guest":true,"memo":null}]`
	if got := rec.Body.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(want)) || rec.Header().Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type %q", rec.Header().Get("Content-Type"))
	}
}

func TestGetOne(t *testing.T) {
	w := newWorld(t, nil)
	row := decode[map[string]any](t, w.call("GET", listPath+"/7", "").Body)
	if len(row) != len(reservation.StoredFields()) || row["id"] != float64(7) {
		t.Errorf("id %v with %d of %d fields", row["id"], len(row), len(reservation.StoredFields()))
	}
	if got := w.call("GET", listPath+"/7?_fields=code", "").Body.String(); got != `{"id":7,"code":"00000042"}` {
		t.Error(got)
	}
	wantProblem(t, w.call("GET", listPath+"/101", ""), 404, "not-found")
	wantProblem(t, w.call("GET", listPath+"/7?_fields=nope", ""), 400, "invalid")
	w.reservations.err = errBroken
	wantProblem(t, w.call("GET", listPath+"/7", ""), http.StatusInternalServerError, "internal")
}

func TestColumnsOfADataset(t *testing.T) {
	got := decode[gateway.CatalogView](t, newWorld(t, nil).call("GET", "/api/v1/datasets/reservations/columns", "").Body)
	if got.Dataset != "reservations" || len(got.Columns) != len(reservation.Fields()) {
		t.Fatalf("%s with %d columns", got.Dataset, len(got.Columns))
	}
	want := gateway.ColumnView{Key: "code", Titles: map[string]string{"ko": "예약번호", "en": "Reservation"}, Type: "code", Default: true}
	if d := cmp.Diff(want, got.Columns[1]); d != "" {
		t.Error(d)
	}
}
