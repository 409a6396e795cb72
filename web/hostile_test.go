package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

// Whom rows were looked for by is shown to those alone who may see guests' data.
func TestAFilterIsShownAsItsReaderMaySeeIt(t *testing.T) {
	const name = "Hidden Kim"
	filter := map[string][]string{"guest_name": {name}, "q": {"Hidden"}}
	w := newWorld(t, nil)
	w.jobs = []export.Job{job("j1", func(j *export.Job) { j.Request.Filter, j.Scope.Personal = filter, true })}
	w.events = []audit.Event{{ID: "e1", At: now, Action: audit.Create, Personal: true, Filter: filter}}
	blind := with(access.CreateExports, access.ReadAllExports, access.ReadAudit)
	for _, target := range []string{"/exports", "/exports?all=true", "/audit"} {
		rec := w.get(blind, target)
		wantAll(t, rec, 200, "H**")
		wantNone(t, rec, "Hidden")
		wantAll(t, w.get(boss, target), 200, name)
	}
}

// However long a filter is, its page stays in proportion.
func TestALongFilterMakesNoHugePage(t *testing.T) {
	w := newWorld(t, nil)
	names, values := url.Values{}, url.Values{}
	for i := range 3000 {
		names.Set(fmt.Sprintf("p%d", i), "x")
		values.Add("nights", fmt.Sprint(i))
	}
	some := url.Values{"nights": values["nights"][:900]}
	for name, c := range map[string]struct {
		query  url.Values
		status int
	}{"unknown names": {names, 400}, "too many values": {values, 400}, "many values": {some, 200}} {
		rec := w.get(boss, "/reservations?"+c.query.Encode())
		if rec.Code != c.status || rec.Body.Len() > 4<<20 {
			t.Errorf("%s: %d with %d bytes", name, rec.Code, rec.Body.Len())
		}
	}
	rec := w.get(boss, "/reservations?personal=true&"+some.Encode())
	wantAll(t, rec, 200, "… &#43; 888", `href="/reservations/4711?list=personal%3Dtrue"`)
}

// A list without the filter that could not be read would be another list.
func TestAnAddressThatCannotBeReadIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{"/reservations?status=Canceled;x", "/reservations?status=%zz", "/exports?a;b", "/audit?actor=a;b", "/reservations/4711?list=a;b"} {
		wantAll(t, w.get(boss, target), 400, "The address cannot be read")
	}
	if len(w.queries) > 0 || len(w.recorded) > 0 {
		t.Errorf("it was read all the same: %d lists, %d events", len(w.queries), len(w.recorded))
	}
	if rec := w.get(boss, "/reservations?q="+strings.Repeat("a", 50)); rec.Code != 200 {
		t.Errorf("a plain one: %d", rec.Code)
	}
}

func TestWhatKeepsAPageFromItsReaderIsAPage(t *testing.T) {
	w := newWorld(t, nil)
	failer := w.handler.(interface {
		Fail(w http.ResponseWriter, r *http.Request, err error)
	})
	for kind, c := range map[fault.Kind]struct {
		status int
		korean string
	}{
		fault.TooMany: {429, "요청이 너무 잦습니다"}, fault.Unavailable: {503, "지금은 데이터를 가져올 수 없습니다"}, fault.Unauthorized: {401, "로그인이 필요합니다"},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(access.With(t.Context(), boss), http.MethodGet, "/exports", nil)
		r.Header.Set("Accept-Language", "ko")
		failer.Fail(rec, r, fault.New(kind, hostile))
		wantAll(t, rec, c.status, c.korean, "&lt;script&gt;", "Kim Boss")
		if rec.Header().Get("Content-Security-Policy") == "" || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %v", kind, rec.Header())
		}
	}
}
