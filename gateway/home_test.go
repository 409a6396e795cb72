package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/gateway"
	"rowmill/home"
	"rowmill/internal/fault"
)

// fakeHome is a board that remembers what was asked of it.
type fakeHome struct {
	board   home.Board
	err     error
	days    []time.Time
	changes []home.Change
}

func (f *fakeHome) Board(_ context.Context, day time.Time) (home.Board, error) {
	f.days = append(f.days, day)
	return f.board, f.err
}

func (f *fakeHome) Change(ctx context.Context, c home.Change, approve func(context.Context) error) (home.Section, error) {
	if f.err != nil {
		return home.Section{}, f.err
	}
	if err := approve(ctx); err != nil {
		return home.Section{}, err
	}
	f.changes = append(f.changes, c)
	return home.Section{ID: c.ID, Kind: home.Grid, Title: c.Title, Position: c.Position, From: c.From, Until: c.Until, ProductIDs: c.ProductIDs}, nil
}

const (
	homePath    = "/api/v1/home"
	sectionPath = homePath + "/sections/7"
	homeBody    = `{"title":"여름","position":3,"visible_from":"2026-12-01T00:00:00+09:00","product_ids":[5,2]}`
)

func TestTheHomeBoard(t *testing.T) {
	day := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
	w := newWorld(t, func(w *world, _ *gatewayConfig) {
		w.home.board = home.Board{AsOf: today, Day: day, Sections: []home.Shown{
			{Section: home.Section{ID: 7, Kind: home.Grid, Title: "여름", Position: 1, ProductIDs: []int64{5, 2}}, Available: 12},
			{Section: home.Section{ID: 1, Kind: home.Notice, Title: "점검", Position: 2}},
		}}
	})
	rec := w.call("GET", homePath+"?date=2026-12-24", "")
	want := `{"as_of":"` + today.UTC().Format(time.RFC3339) + `","date":"2026-12-24","sections":[` +
		`{"id":7,"kind":"grid","title":"여름","position":1,"product_ids":[5,2],"available_units":12},` +
		`{"id":1,"kind":"notice","title":"점검","position":2,"product_ids":[],"available_units":0}]}`
	if diff := cmp.Diff(want, strings.TrimSpace(rec.Body.String())); diff != "" || rec.Code != 200 || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v (-want +got):\n%s", rec.Code, rec.Header(), diff)
	}
	w.call("GET", homePath, "")
	if diff := cmp.Diff([]time.Time{day, {}}, w.home.days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"2026-02-30", "tomorrow", "0000-01-01", "2026-12-24T00"} {
		wantProblem(t, w.call("GET", homePath+"?date="+wrong, ""), 400, "invalid")
	}
	wantProblem(t, w.call("GET", homePath+"?day=2026-12-24", ""), 400, "invalid")
	w.home.board = home.Board{}
	if body := w.call("GET", homePath, "").Body.String(); !strings.Contains(body, `"sections":[]`) {
		t.Errorf("an empty board is %s", body)
	}
	w.home.err = fault.New(fault.Unavailable, "late")
	wantProblem(t, w.call("GET", homePath, ""), 503, "unavailable")
}

func TestASectionIsChangedAndTheAuditTellsOfIt(t *testing.T) {
	kept := &fakeAudit{}
	w := newWorld(t, audited(kept, nil))
	rec := w.call("PUT", sectionPath, homeBody)
	from := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	if rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	got := decode[gateway.HomeSection](t, rec.Body)
	if got.VisibleFrom == nil || !got.VisibleFrom.Equal(from) {
		t.Errorf("it is visible from %v", got.VisibleFrom)
	}
	got.VisibleFrom = nil
	if diff := cmp.Diff(gateway.HomeSection{ID: 7, Kind: home.Grid, Title: "여름", Position: 3, ProductIDs: []int64{5, 2}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w.home.changes) != 1 || w.home.changes[0].ID != 7 || !w.home.changes[0].From.Equal(from) || !w.home.changes[0].Until.IsZero() {
		t.Errorf("changes: %+v", w.home.changes)
	}
	events := kept.recorded()
	if len(events) != 1 || events[0].Action != audit.HomeChange || events[0].Actor == "" ||
		events[0].Detail != `section 7, position 3, from 2026-11-30T15:00:00Z, 2 products, "여름": 5 2` {
		t.Errorf("the audit has %+v", events)
	}
	if rec := w.call("GET", "/api/v1/audit?action=home.change", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), "section 7") {
		t.Errorf("the audit is read as %d %s", rec.Code, rec.Body)
	}

	kept.err = errBroken
	wantProblem(t, w.call("PUT", sectionPath, homeBody), 503, "unavailable")
	kept.err = nil
	if len(w.home.changes) != 1 {
		t.Error("what could not be recorded was done")
	}
}

func TestAWrongSectionIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	for name, body := range map[string]string{
		"no title":          `{"position":3,"product_ids":[]}`,
		"no products":       `{"title":"t","position":3}`,
		"null":              `{"title":"t","position":3,"product_ids":null}`,
		"a misspelt name":   `{"title":"t","position":3,"product_ids":[],"visble_from":"2026-12-01T00:00:00Z"}`,
		"a place below":     `{"title":"t","position":-1,"product_ids":[]}`,
		"a moment of words": `{"title":"t","position":1,"product_ids":[],"visible_until":"soon"}`,
		"products of texts": `{"title":"t","position":1,"product_ids":["1"]}`,
		"too many products": `{"title":"t","position":1,"product_ids":[1` + strings.Repeat(",1", 200) + `]}`,
		"a kind":            `{"title":"t","position":1,"product_ids":[],"kind":"grid"}`,
	} {
		if rec := w.call("PUT", sectionPath, body); rec.Code != 400 {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	wantProblem(t, w.call("PUT", homePath+"/sections/0", homeBody), 400, "invalid")
	wantProblem(t, w.call("PUT", homePath+"/sections/x", homeBody), 400, "invalid")
	if len(w.home.changes) != 0 {
		t.Errorf("changed: %+v", w.home.changes)
	}
	w.home.err = fault.New(fault.NotFound, "none")
	wantProblem(t, w.call("PUT", sectionPath, homeBody), 404, "not-found")
}

func TestWithoutABoardThereAreNoRoutesOfIt(t *testing.T) {
	cfg := newWorld(t, nil).cfg
	cfg.Home = nil
	server, err := gateway.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range server.Routes() {
		if strings.HasPrefix(r.Path, homePath) {
			t.Errorf("there is %s %s", r.Method, r.Path)
		}
	}
}

func TestManagersAndAdminsMayChangeTheBoard(t *testing.T) {
	var may []string
	for name, role := range access.DefaultPolicy() {
		if slices.Contains(role.Permissions, access.WriteHome) {
			may = append(may, name)
		}
	}
	slices.Sort(may)
	if diff := cmp.Diff([]string{"admin", "manager"}, may); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
