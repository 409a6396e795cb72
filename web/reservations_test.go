package web_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/reservation"
	"rowmill/web"
)

func TestListShowsRowsAsThePersonReads(t *testing.T) {
	w := newWorld(t, nil)
	w.total = 4500
	rec := w.get(boss, "/reservations?status=Canceled&_sort=check_in&_order=desc&_page=3")
	wantAll(t, rec, 200,
		`<html lang="en">`, "41–41 of 4,500", "00004711", `<span class="badge" data-status="Canceled">Canceled</span>`,
		`<time datetime="2016-03-12">12 Mar 2016</time>`, "1,234,567.50", `class="number">1,234<`, `aria-sort="descending"`, `aria-sort="none"`,
		`<option value="Resort Hotel">`, "Kim Boss", `action="/auth/logout"`, `<caption`, "Status: Canceled",
		`aria-label="Open reservation 00004711"`)
	want := reservation.Window{Offset: 40, Limit: 20}
	if diff := cmp.Diff(want, w.windows[0]); diff != "" {
		t.Error(diff)
	}
	if q := w.queries[0]; q.Sort != (reservation.Sort{Field: "check_in", Desc: true}) || len(q.Filter.Conditions) != 1 {
		t.Errorf("asked %+v", q)
	}
}

func TestHostileDataStayText(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{
		"/reservations", "/reservations/4711",
		"/reservations?q=" + url.QueryEscape(hostile), "/reservations?memo=" + url.QueryEscape(hostile), "/reservations?" + url.QueryEscape(hostile) + "=1",
		"/reservations/4711?list=" + url.QueryEscape(hostile+"=javascript:alert(1)"), "/audit?actor=" + url.QueryEscape(hostile),
	} {
		rec := w.get(boss, target)
		wantNone(t, rec, "<script>alert", `"javascript:`)
		if !strings.Contains(rec.Body.String(), "&lt;script&gt;") && !strings.Contains(rec.Body.String(), "%3Cscript%3E") {
			t.Errorf("%s: the text is not there at all", target)
		}
	}
}

// Every link that a list offers leads to a list that can be read, and takes
// along what it does not change.
func TestEveryLinkKeepsTheState(t *testing.T) {
	w := newWorld(t, nil)
	w.total = 4500
	const fields = "code,memo,guest_name"
	address := "/reservations?q=ab&status=Canceled&status=No-Show&check_in_gte=2016-01-01&memo_null=false&_sort=check_in&_order=desc&_limit=50&_page=7&personal=true&_fields=" + url.QueryEscape(fields)
	rec := w.get(boss, address)
	wantAll(t, rec, 200)
	found := links(rec, "/reservations?")
	if len(found) < 15 {
		t.Fatalf("only %d links: %q", len(found), found)
	}
	for _, to := range found {
		if code := w.get(boss, to).Code; code != 200 {
			if code != http.StatusSeeOther || !strings.Contains(to, "lang=") {
				t.Errorf("%s: %d", to, code)
			}
		}
		query := queryOf(t, to)
		if query.Get("_fields") != fields || query.Get("_sort") == "" {
			t.Errorf("%s has lost the columns or the sort", to)
		}
	}
	if want := strings.Replace(address, "_page=7", "_page=8", 1); !hasState(t, found, want) {
		t.Errorf("no link to the next page among %q", found)
	}
	if want := strings.Replace(strings.Replace(address, "&_page=7", "", 1), "status=Canceled&", "", 1); !hasState(t, found, want) {
		t.Errorf("no link that drops one status among %q", found)
	}
	wantAll(t, rec, 200, `filter="{&#34;check_in_gte&#34;:[&#34;2016-01-01&#34;],&#34;memo_null&#34;:[&#34;false&#34;],&#34;q&#34;:[&#34;ab&#34;],&#34;status&#34;:[&#34;Canceled&#34;,&#34;No-Show&#34;]}"`,
		`sort="check_in" order="desc" columns="code,memo,guest_name"`, `<input type="hidden" name="memo_null" value="false">`)
}

func hasState(t *testing.T, addresses []string, want string) bool {
	t.Helper()
	for _, a := range addresses {
		if cmp.Equal(queryOf(t, a), queryOf(t, want)) {
			return true
		}
	}
	return false
}

func TestFormBecomesAnAddress(t *testing.T) {
	for _, c := range []struct{ name, form, want string }{
		{"nothing", "form=1&q=&property=&status=", ""},
		{"what is empty is dropped, the page too", "form=1&q=ab&property=&_page=7&check_in_gte=2016-01-01", "check_in_gte=2016-01-01&q=ab"},
		{"the further filter", "form=1&form.field=memo&form.op=_null&form.value=", "memo_null=true"},
		{"the further filter with a value", "form=1&form.field=nights&form.op=_gte&form.value=+3+", "nights_gte=3"},
		{"a further filter without a value is none", "form=1&form.field=nights&form.op=_gte&form.value=", ""},
		{"several statuses", "form=1&status=Canceled&status=No-Show", "status=Canceled&status=No-Show"},
		{"columns keep their order, new ones follow", "form=1&_fields=memo,code&form.column=code&form.column=memo&form.column=id", "_fields=memo%2Ccode%2Cid"},
		{"the usual columns are not named", "form=1&" + usualColumns, ""},
	} {
		rec := newWorld(t, nil).get(boss, "/reservations?"+c.form)
		want := "/reservations"
		if c.want != "" {
			want += "?" + c.want
		}
		if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: %d to %q, want %q", c.name, rec.Code, got, want)
		}
	}
}

const usualColumns = "form.column=code&form.column=status&form.column=property&form.column=channel&form.column=booked_on&form.column=check_in&form.column=check_out&form.column=nights&form.column=guest_name&form.column=guest_phone&form.column=amount&form.column=currency"

func TestListTellsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, target string
		err          error
		status       int
		want         []string
	}{
		{"a filter", "/reservations?check_in_gte=tomorrow&q=ab", nil, 400, []string{"This cannot be read as it stands", "Check-in from", `value="ab"`}},
		{"a column", "/reservations?_fields=code,nonsense", nil, 400, []string{"Columns", "nonsense"}},
		{"a page", "/reservations?_page=0&_limit=201", nil, 400, []string{"Rows per page", "from 1 to 200"}},
		{"a sort", "/reservations?_sort=memo", nil, 400, []string{"cannot be sorted by"}},
		{"the data is away", "/reservations?q=ab", fault.Wrap(errors.New("secret cause"), fault.Unavailable, "The reservations do not answer."), 503, []string{"cannot be reached just now", "do not answer", `value="ab"`}},
		{"a bug", "/reservations", errors.New("secret cause"), 500, []string{"went wrong on our side"}},
		{"a filter that the scope forbids", "/reservations?guest_name=Kim", fault.New(fault.Forbidden, "pii:read is needed."), 403, []string{"You may not see this", "pii:read is needed."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.listErr = c.err
			rec := w.get(boss, c.target)
			wantAll(t, rec, c.status, append(c.want, `role="alert"`)...)
			wantNone(t, rec, "secret cause", "<table")
		})
	}
}

func TestEmptyLists(t *testing.T) {
	w := newWorld(t, nil)
	w.total = 0
	wantAll(t, w.get(boss, "/reservations"), 200, "There are no reservations yet")
	wantAll(t, w.get(boss, "/reservations?q=x"), 200, "No reservation matches", "Clear all filters")
	w.total = 45
	rec := w.get(boss, "/reservations?_page=9")
	wantAll(t, rec, 200, "This page is past the end", `href="/reservations?_page=3"`)
}

func TestPersonalDataAreMaskedUntilAskedFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		caller   access.Principal
		target   string
		personal bool
		has, not []string
	}{
		{"masked", boss, "/reservations", false, []string{`class="masked"`, `aria-checked="false" href="/reservations?personal=true"`}, nil},
		{"in the clear", boss, "/reservations?personal=true", true, []string{`aria-checked="true" href="/reservations"`}, []string{`class="masked"`, `class="lock"`}},
		{"asked for without the permission", with(access.ReadReservations), "/reservations?personal=true", false, []string{`class="masked"`, "Personal data are masked."}, []string{`role="switch"`}},
		{"one", boss, "/reservations/4711", false, []string{`class="masked"`}, nil},
		{"one in the clear", boss, "/reservations/4711?list=personal%3Dtrue", true, nil, []string{`class="masked"`}},
		{"one without the permission", with(access.ReadReservations), "/reservations/4711?list=personal%3Dtrue", false, []string{`class="masked"`}, []string{`role="switch"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			rec := w.get(c.caller, c.target)
			wantAll(t, rec, 200, c.has...)
			wantNone(t, rec, c.not...)
			if got := w.queries[0].Scope.Personal; got != c.personal {
				t.Errorf("asked in the clear: %t", got)
			}
		})
	}
}

func TestScopeIsTheCallers(t *testing.T) {
	w := newWorld(t, nil)
	p := boss
	p.Properties = []int64{7}
	w.get(p, "/reservations")
	w.get(p, "/reservations/4711")
	for _, q := range w.queries {
		if diff := cmp.Diff([]int64{7}, q.Scope.Properties); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDetailHasEveryField(t *testing.T) {
	w := newWorld(t, nil)
	rec := w.get(boss, "/reservations/4711?list=status%3DCanceled%26_page%3D3")
	wantAll(t, rec, 200, "Reservation 00004711", `href="/reservations?_page=3&amp;status=Canceled"`, "12 Mar 2016 00:30", "Yes", `href="/audit?reservation=4711"`)
	for _, f := range reservation.StoredFields() {
		wantAll(t, rec, 200, "<dt>"+f.Titles.English+"</dt>")
	}
	w.rows = nil
	wantAll(t, w.get(boss, "/reservations/4712"), 404, "Not found")
	wantAll(t, w.get(boss, "/reservations/x"), 404, "Not found")
}

func TestWithoutTheModuleThereIsAPlainButton(t *testing.T) {
	rec := newWorld(t, func(c *web.Config) { c.Modules = nil }).get(boss, "/reservations?status=Canceled")
	wantAll(t, rec, 200, `data-order="{&#34;columns&#34;:[`, `&#34;filter&#34;:{&#34;status&#34;:[&#34;Canceled&#34;]}`)
	wantNone(t, rec, "<export-button")
	rec = newWorld(t, nil).get(with(access.ReadReservations), "/reservations")
	wantNone(t, rec, "<export-button", "data-order")
}
