package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/home"
	"rowmill/internal/table"
	"rowmill/reservation"
	"rowmill/web"
)

var now = time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC)

// world is the pages with what they need, faked.
type world struct {
	t       *testing.T
	handler http.Handler

	rows    []map[string]table.Value
	total   int64
	listErr error
	queries []reservation.Query // but those for the choices
	windows []reservation.Window

	jobs      []export.Job
	histories []export.History

	board    home.Board
	boardErr error
	days     []time.Time

	events     []audit.Event
	takings    []audit.Taking
	asked      []audit.Query
	askedID    int64
	recorded   []audit.Event
	recordFail bool
}

const hostile = `<script>alert(1)</script>"'>`

func newWorld(t *testing.T, change func(*web.Config)) *world {
	t.Helper()
	w := &world{t: t, total: 1, rows: []map[string]table.Value{{
		"id": table.IntegerOf(4711), "code": table.TextOf("00004711"), "status": table.TextOf("Canceled"), "property": table.TextOf("Resort Hotel"),
		"channel": table.TextOf("Direct"), "check_in": mustDate(t, "2016-03-12"), "nights": table.IntegerOf(1234), "guest_name": table.TextOf(hostile),
		"guest_phone": table.TextOf("010-****-**78"), "amount": table.DecimalOf(123456750, 2), "currency": table.TextOf("EUR"),
		"paid_at": table.TimeOf(time.Date(2016, 3, 11, 15, 30, 0, 0, time.UTC)), "repeated_guest": table.BoolOf(true),
	}}}
	cfg := web.Config{
		Reservations: w, Jobs: w, Events: events{w}, Takers: w, Home: w, Record: w.record, Now: func() time.Time { return now }, Location: time.FixedZone("Asia/Seoul", 9*60*60),
		Modules: fstest.MapFS{"export-button.js": {Data: []byte("customElements.define('export-button', class extends HTMLElement {});")}},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.handler, err = web.New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

func mustDate(t *testing.T, s string) table.Value {
	t.Helper()
	v, ok := table.ParseDate(s)
	if !ok {
		t.Fatal(s)
	}
	return v
}

func (w *world) List(_ context.Context, q reservation.Query, win reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	if win.Limit > 200 { // what filters offer
		fieldsOnly, _ := reservation.FieldsOf([]string{"property", "channel"})
		return w.page(fieldsOnly, -1), nil
	}
	w.queries, w.windows = append(w.queries, q), append(w.windows, win)
	if w.listErr != nil {
		return reservation.List{}, w.listErr
	}
	if win.Offset >= w.total && withTotal {
		return reservation.List{Total: w.total}, nil
	}
	return w.page(fields, w.total), nil
}

func (w *world) page(fields []reservation.Field, total int64) reservation.List {
	list := reservation.List{Total: total}
	for _, data := range w.rows {
		r := table.Row{Key: data["id"].Integer()}
		for _, f := range fields {
			r.Values = append(r.Values, data[f.Key])
		}
		list.Rows = append(list.Rows, r)
	}
	return list
}

func (w *world) Board(_ context.Context, day time.Time) (home.Board, error) {
	w.days = append(w.days, day)
	return w.board, w.boardErr
}

func (w *world) History(_ context.Context, h export.History) ([]export.Job, error) {
	w.histories = append(w.histories, h)
	return w.jobs[:min(len(w.jobs), h.Limit)], nil
}

// events is the world's audit.
type events struct{ *world }

func (w events) List(_ context.Context, q audit.Query) ([]audit.Event, error) {
	w.asked = append(w.asked, q)
	return w.events[:min(len(w.events), q.Limit)], nil
}

func (w *world) Takers(_ context.Context, q audit.TakersQuery) ([]audit.Taking, error) {
	w.askedID = q.ID
	return w.takings, nil
}

func (w *world) record(_ context.Context, e audit.Event) error {
	if w.recordFail {
		return errors.New("the disk is full")
	}
	w.recorded = append(w.recorded, e)
	return nil
}

// boss may do everything.
var boss = access.Principal{Subject: "kim", Name: "Kim Boss", Permissions: access.Permissions()}

func with(permissions ...access.Permission) access.Principal {
	return access.Principal{Subject: "lee", Name: "Lee", Permissions: permissions}
}

// get asks for a page as p, with header names and values in turn.
func (w *world) get(p access.Principal, target string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(access.With(w.t.Context(), p), http.MethodGet, target, nil)
	return w.do(r, headers...)
}

func (w *world) stranger(target string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.do(httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, target, nil), headers...)
}

func (w *world) do(r *http.Request, headers ...string) *httptest.ResponseRecorder {
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// wantAll reports what of the texts a page lacks.
func wantAll(t *testing.T, rec *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if rec.Code != status {
		t.Errorf("status %d, want %d", rec.Code, status)
	}
	for _, text := range texts {
		if !strings.Contains(rec.Body.String(), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

func wantNone(t *testing.T, rec *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(rec.Body.String(), text) {
			t.Errorf("the page has %q", text)
		}
	}
}

var hrefs = regexp.MustCompile(`href="([^"]+)"`)

// links gives the page's links to addresses that start so.
func links(rec *httptest.ResponseRecorder, start string) (found []string) {
	for _, m := range hrefs.FindAllStringSubmatch(rec.Body.String(), -1) {
		if to := strings.ReplaceAll(m[1], "&amp;", "&"); strings.HasPrefix(to, start) {
			found = append(found, to)
		}
	}
	return found
}

func queryOf(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}
