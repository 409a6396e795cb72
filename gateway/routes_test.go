package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"rowmill/access"
	"rowmill/element"
	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/testoidc"
	"rowmill/signin"
	"rowmill/web"
)

const apiAudience = "rowmill-api"

// callers are who comes to every route, in the order of a row's statuses. "owner"
// has the role of the column and the one job there is.
var callers = []struct {
	name   string
	claims map[string]any // nil: no token
}{
	{"nobody", nil},
	{"the owner with a token for another API", map[string]any{"aud": "another", "roles": "admin"}},
	{"the owner with an expired token", map[string]any{"exp": today.Add(-time.Second).Unix(), "roles": "admin"}},
	{"viewer", map[string]any{"roles": "viewer"}},
	{"operator", map[string]any{"roles": "operator"}},
	{"manager", map[string]any{"roles": "manager"}},
	{"auditor", map[string]any{"roles": "auditor"}},
	{"admin", map[string]any{"roles": "admin"}},
	{"no role", map[string]any{"roles": "root"}},
	{"an operator of another property", map[string]any{"sub": "elsewhere", "roles": "operator", "properties": []int{999}}},
	{"an operator whose token names no property", map[string]any{"sub": "nowhere", "roles": "operator", "properties": nil}},
	{"another operator", map[string]any{"sub": "other", "roles": "operator"}},
	{"another manager", map[string]any{"sub": "other", "roles": "manager"}},
}

// row is what each of callers gets at a route.
type row struct {
	target, body string
	statuses     []int
}

func open(target string, status int) row { return row{target: target, statuses: every(status)} }
func every(status int) []int             { return slices.Repeat([]int{status}, len(callers)) }

// routeRows has a row for every route: who adds one says here who may use it.
var routeRows = map[string]row{
	//                                                                              nobody aud  exp  view oper mana audi admi none else nowh other omana
	"GET /api/v1/me":                     {"/api/v1/me", "", []int{401, 401, 401, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200}},
	"GET /api/v1/reservations":           {"/api/v1/reservations?_end=2", "", []int{401, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /api/v1/reservations/:id":       {"/api/v1/reservations/1", "", []int{401, 401, 401, 200, 200, 200, 403, 200, 403, 404, 404, 200, 200}},
	"GET /api/v1/datasets/:name/columns": {"/api/v1/datasets/reservations/columns", "", []int{401, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"POST /api/v1/exports":               {"/api/v1/exports", `{"columns":["id"]}`, []int{401, 401, 401, 403, 202, 202, 403, 202, 403, 202, 202, 202, 202}},
	"GET /api/v1/exports":                {"/api/v1/exports", "", []int{401, 401, 401, 403, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /api/v1/exports/:id":            {"/api/v1/exports/job-succeeded", "", []int{401, 401, 401, 403, 200, 200, 403, 200, 403, 404, 404, 404, 200}},
	"GET /api/v1/exports/:id/events":     {"/api/v1/exports/job-succeeded/events", "", []int{401, 401, 401, 403, 200, 200, 403, 200, 403, 404, 404, 404, 404}},
	"GET /api/v1/exports/:id/file":       {"/api/v1/exports/job-succeeded/file", "", []int{401, 401, 401, 403, 200, 200, 403, 200, 403, 404, 404, 404, 404}},
	"HEAD /api/v1/exports/:id/file":      {"/api/v1/exports/job-succeeded/file", "", []int{401, 401, 401, 403, 200, 200, 403, 200, 403, 404, 404, 404, 404}},
	"DELETE /api/v1/exports/:id":         {"/api/v1/exports/job-succeeded", "", []int{401, 401, 401, 403, 409, 409, 403, 409, 403, 404, 404, 404, 404}},
	"POST /api/v1/exports/:id/again":     {"/api/v1/exports/job-succeeded/again", "", []int{401, 401, 401, 403, 202, 202, 403, 202, 403, 404, 404, 404, 404}},
	"POST /api/v1/exports/:id/link":      {"/api/v1/exports/job-succeeded/link", "", []int{401, 401, 401, 403, 201, 201, 403, 201, 403, 404, 404, 404, 404}},
	"POST /api/v1/exports/preflight":     {"/api/v1/exports/preflight", `{"columns":["id"]}`, []int{401, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /api/v1/files/:token":           open("/api/v1/files/AAAA", 404),
	"HEAD /api/v1/files/:token":          open("/api/v1/files/AAAA", 404),
	"GET /api/v1/audit":                  {"/api/v1/audit", "", auditors},
	"GET /api/v1/audit.csv":              {"/api/v1/audit.csv", "", auditors},
	"GET /api/v1/audit/reservations/:id": {"/api/v1/audit/reservations/1", "", auditors},
	"GET /api/v1/home":                   {"/api/v1/home", "", []int{401, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"PUT /api/v1/home/sections/:id":      {"/api/v1/home/sections/1", homeBody, []int{401, 401, 401, 403, 403, 200, 403, 200, 403, 403, 403, 403, 200}},
	"GET /home":                          {"/home", "", []int{303, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /":                              {"/", "", []int{303, 401, 401, 303, 303, 303, 303, 303, 303, 303, 303, 303, 303}},
	"GET /about":                         {"/about", "", []int{200, 401, 401, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200}},
	"GET /assets/:name":                  open("/assets/export-button.js", 200),
	"GET /reservations":                  {"/reservations", "", []int{303, 401, 401, 200, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /reservations/:id":              {"/reservations/1", "", []int{303, 401, 401, 200, 200, 200, 403, 200, 403, 404, 404, 200, 200}},
	"GET /exports":                       {"/exports", "", []int{303, 401, 401, 403, 200, 200, 403, 200, 403, 200, 200, 200, 200}},
	"GET /audit":                         {"/audit", "", []int{303, 401, 401, 403, 403, 403, 200, 200, 403, 403, 403, 403, 403}},
	"GET /livez":                         open("/livez", 200),
	"GET /readyz":                        open("/readyz", 200),
	"GET /openapi.json":                  open("/openapi.json", 200),
	"GET /auth/login":                    open("/auth/login?return_to=/x", 303),
	"GET /auth/callback":                 open("/auth/callback?code=x&state=AAAAAAAAAAAAAAAAAAAAAAAAAA", 400),
	"POST /auth/logout":                  open("/auth/logout", 200),
	"GET /auth/development":              open("/auth/development", 404),
	"POST /auth/development":             open("/auth/development", 404),
}

// auditors alone read the audit.
var auditors = []int{401, 401, 401, 403, 403, 403, 200, 200, 403, 403, 403, 403, 403}

// leaks are what stands in the reservations, the job and its file, and nowhere else.
var leaks = []string{"00000042", "영희", "JOBMARK", string(fileBytes[:8])}

// showsOthers are the cells whose answer holds another's job rightly.
var showsOthers = map[string]bool{"GET /api/v1/exports/:id another manager": true}

func TestEveryRouteIsForThoseWhoMay(t *testing.T) {
	issuer := testoidc.Start(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	in, err := signin.New(t.Context(), signin.Config{
		Issuer: issuer.URL(), ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, RedirectURL: "http://localhost/auth/callback",
		Audience: apiAudience, PropertiesClaim: "properties", CookieKeys: []string{"a secret of the session cookies for tests"},
		HTTP: &http.Client{Transport: transport}, Now: func() time.Time { return today },
	})
	if err != nil {
		t.Fatal(err)
	}
	kept, pages := &fakeAudit{}, http.Handler(nil)
	change := audited(kept, func(w *world, c *gateway.Config) {
		job := jobIn(export.Succeeded)
		job.RequestedBy, job.Request.FileName = "owner", "JOBMARK.xlsx"
		job.Scope.Properties = []int64{ourProperty}
		w.jobs = newJobs(job)
		w.files.files["k"] = fileBytes
		c.Identity, c.SignIn = in, in
		if pages == nil { // once: their templates take their time
			if pages, err = web.New(web.Config{Reservations: w.reservations, Jobs: w.jobs, Events: kept, Takers: kept, Home: w.home, Modules: element.Files(), Now: c.Now}); err != nil {
				t.Fatal(err)
			}
		}
		c.Pages = pages
	})
	var routes []string
	for _, r := range newWorld(t, change).Routes() {
		routes = append(routes, r.Method+" "+r.Path)
		if page := routeRows["GET "+r.Path]; r.Method == http.MethodHead && page.statuses != nil && routeRows[routes[len(routes)-1]].statuses == nil {
			routeRows[routes[len(routes)-1]] = page // a page is read or asked after alike
		}
	}
	for _, route := range routes {
		if r := routeRows[route]; len(r.statuses) != len(callers) {
			t.Errorf("%s has no row that says who may use it", route)
		}
	}
	for route := range routeRows {
		if !slices.Contains(routes, route) {
			t.Errorf("there is a row for %s, which is no route", route)
		}
	}
	for _, route := range slices.Sorted(maps.Keys(routeRows)) {
		for i, who := range callers {
			authorization := ""
			if who.claims != nil {
				authorization = "Bearer " + issuer.Token(t, tokenOf(issuer, who.claims))
			}
			checkCell(t, newWorld(t, change), route, i, authorization)
		}
	}
}

// tokenOf gives the claims of the owner's good token with those changed.
func tokenOf(issuer *testoidc.Issuer, change map[string]any) map[string]any {
	claims := map[string]any{
		"iss": issuer.URL(), "aud": apiAudience, "sub": "owner", "exp": today.Add(time.Minute).Unix(), "properties": []int{ourProperty},
	}
	maps.Copy(claims, change)
	return claims
}

func checkCell(t *testing.T, w *world, route string, i int, authorization string) {
	t.Helper()
	r := routeRows[route]
	if len(r.statuses) != len(callers) {
		return // told already
	}
	method, _, _ := strings.Cut(route, " ")
	rec := w.call(method, r.target, r.body, "Authorization", authorization)
	who, want := callers[i].name, r.statuses[i]
	if rec.Code != want {
		t.Errorf("%s by %s: %d, want %d\n%s", route, who, rec.Code, want, rec.Body)
	}
	if want < 400 && (callers[i].claims["sub"] == nil || showsOthers[route+" "+who] || strings.Contains(route, "/reservations") && !strings.Contains(route, "audit") && who != "an operator of another property" && who != "an operator whose token names no property") {
		return // it is theirs to read
	}
	told := rec.Body.String() + fmt.Sprint(rec.Header())
	for _, leak := range leaks {
		if strings.Contains(told, leak) {
			t.Errorf("%s by %s tells %q", route, who, leak)
		}
	}
	if want >= 400 && strings.HasPrefix(route, "DELETE") {
		if job, err := w.jobs.Get(t.Context(), "job-succeeded"); err != nil || job.Status != export.Succeeded {
			t.Errorf("%s by %s changed the job: %v %v", route, who, job.Status, err)
		}
	}
}

// What the cells look for must be found where it is allowed, or they look for nothing.
func TestTheLeaksAreThereToBeFound(t *testing.T) {
	job := jobIn(export.Succeeded)
	job.Request.FileName = "JOBMARK.xlsx"
	w := newWorld(t, withJobs(job))
	var told strings.Builder
	for _, target := range []string{"/api/v1/reservations?_end=2", "/api/v1/exports/job-succeeded", "/api/v1/exports/job-succeeded/file"} {
		told.Write(w.call("GET", target, "").Body.Bytes())
	}
	for _, leak := range leaks {
		if !strings.Contains(told.String(), leak) {
			t.Errorf("%q is nowhere", leak)
		}
	}
}

func TestEveryRuleIsOfAnOperation(t *testing.T) {
	_, ops := operations(t)
	for id, need := range gateway.Rules() {
		found := false
		for _, op := range ops {
			found = found || op["operationId"] == id
		}
		if !found {
			t.Errorf("there is a rule for %s, which is no operation", id)
		}
		for _, p := range need {
			if !slices.Contains(access.Permissions(), p) {
				t.Errorf("%s needs %q, which is no permission", id, p)
			}
		}
	}
}
