package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// caller is an identity that is whoever the test says.
type caller struct {
	access.Principal
	by  httpedge.Method
	err error
}

func (c *caller) Authenticate(*http.Request) (access.Principal, httpedge.Method, error) {
	return c.Principal, c.by, c.err
}

// kept is an audit in memory.
type kept struct {
	events []audit.Event
	err    error
}

func (k *kept) Record(_ context.Context, e audit.Event) error {
	k.events = append(k.events, e)
	return k.err
}

// withRole is somebody with the role of the default policy.
func withRole(subject, role string) *caller {
	granted, maxRows := access.DefaultPolicy().Grant([]string{role})
	return &caller{Principal: access.Principal{Subject: subject, Name: "N", Roles: []string{role}, Permissions: granted, MaxRows: maxRows}, by: httpedge.ByBearer}
}

func TestMeIsTheCaller(t *testing.T) {
	for _, c := range []struct {
		name string
		p    access.Principal
		want string
	}{
		{"all that there is", access.Principal{Subject: "u", Name: "N", Permissions: access.Permissions(), MaxRows: 7},
			`{"subject":"u","name":"N","permissions":["reservations:read","exports:create","exports:read-all","pii:read","audit:read","home:write"],"properties":null,"max_rows":7,"development":true}`},
		{"nothing", access.Principal{Subject: "u", Properties: []int64{}},
			`{"subject":"u","name":"","permissions":[],"properties":[],"max_rows":0,"development":true}`},
		{"some properties", access.Principal{Subject: "u", Properties: []int64{7, 8}},
			`{"subject":"u","name":"","permissions":[],"properties":[7,8],"max_rows":0,"development":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(_ *world, cfg *gateway.Config) { cfg.Identity, cfg.Development = &caller{Principal: c.p}, true })
			rec := w.call("GET", "/api/v1/me", "")
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != 200 || got != c.want {
				t.Errorf("got %d %s, want %s", rec.Code, got, c.want)
			}
		})
	}
}

func TestADenialNamesThePermissionAndIsKept(t *testing.T) {
	audited := &kept{}
	w := newWorld(t, func(w *world, c *gateway.Config) {
		c.Identity, c.Audit = withRole("u", "auditor"), audited
		w.jobs = newJobs(jobIn(export.Queued))
	})
	for _, c := range []struct{ method, target, body, detail string }{
		{"GET", "/api/v1/reservations?_end=1", "", "reservations:read"},
		{"GET", "/api/v1/reservations/1", "", "reservations:read"},
		{"POST", "/api/v1/exports", `{"columns":["no such column"]}`, "exports:create"}, // before it is looked at
		{"GET", "/api/v1/exports", "", "exports:create or exports:read-all"},
		{"DELETE", "/api/v1/exports/job-queued", "", "exports:create"},
	} {
		audited.events = nil
		p := wantProblem(t, w.call(c.method, c.target, c.body), 403, "forbidden")
		if !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s %s: %q does not name %s", c.method, c.target, p.Detail, c.detail)
		}
		if len(audited.events) != 1 || audited.events[0].Action != audit.Deny || audited.events[0].Actor != "u" || audited.events[0].Detail != c.detail || audited.events[0].RequestID != p.RequestID {
			t.Errorf("%s %s: kept %+v", c.method, c.target, audited.events)
		}
	}
	audited.err = errors.New("secret cause")
	rec := w.call("GET", "/api/v1/reservations/1", "")
	if strings.Contains(rec.Body.String(), "secret") {
		t.Error("the cause is in the answer")
	}
	wantProblem(t, rec, 503, "unavailable")
}

func TestAnIdentityThatCannotBeToldIsNoChallenge(t *testing.T) {
	w := newWorld(t, func(_ *world, c *gateway.Config) {
		c.Identity = &caller{by: httpedge.ByBearer, err: fault.New(fault.Unavailable, "The issuer does not answer.")}
	})
	rec := w.call("GET", "/api/v1/exports", "")
	if rec.Header().Get("WWW-Authenticate") != "" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("headers %v", rec.Header())
	}
	wantProblem(t, rec, 503, "unavailable")
}

func TestTheLogKnowsWhoCalled(t *testing.T) {
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.Identity = withRole("user-7", "viewer") })
	w.call("GET", "/api/v1/exports", "")
	if !strings.Contains(w.log.String(), `"subject":"user-7"`) || strings.Contains(w.log.String(), `"N"`) {
		t.Error(w.log.String())
	}
}

func TestOnlyACookieNeedsItsOrigin(t *testing.T) {
	const body = `{"columns":["id"]}`
	evil := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
	for _, c := range []struct {
		name   string
		by     httpedge.Method
		method string
		target string
		header []string
		status int
	}{
		{"a bearer from anywhere", httpedge.ByBearer, "POST", "/api/v1/exports", evil, 202},
		{"a cookie from another site", httpedge.ByCookie, "POST", "/api/v1/exports", evil, 403},
		{"a cookie from another host of the site", httpedge.ByCookie, "POST", "/api/v1/exports", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a cookie from a sandbox", httpedge.ByCookie, "POST", "/api/v1/exports", []string{"Origin", "null"}, 403},
		{"a cookie from another site, to cancel", httpedge.ByCookie, "DELETE", "/api/v1/exports/job-queued", evil, 403},
		{"a cookie from an allowed origin of tokens", httpedge.ByCookie, "POST", "/api/v1/exports", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://office.example"}, 403},
		{"a cookie from another site, to read", httpedge.ByCookie, "GET", "/api/v1/exports", evil, 200},
		{"a cookie from our own page", httpedge.ByCookie, "POST", "/api/v1/exports", []string{"Sec-Fetch-Site", "same-origin"}, 202},
		{"a cookie from our own page behind a proxy", httpedge.ByCookie, "POST", "/api/v1/exports", []string{"Origin", "https://rowmill.example"}, 202},
		{"a cookie from no page", httpedge.ByCookie, "POST", "/api/v1/exports", nil, 202},
	} {
		t.Run(c.name, func(t *testing.T) {
			audited := &kept{}
			w := newWorld(t, func(w *world, cfg *gateway.Config) {
				who := withRole(gateway.Subject, "operator")
				who.by = c.by
				cfg.Identity, cfg.Audit, cfg.BaseURL, cfg.AllowedOrigins = who, audited, "https://rowmill.example/rowmill", []string{"https://office.example"}
				w.jobs = newJobs(jobIn(export.Queued))
			})
			sent := ""
			if c.method == "POST" {
				sent = body
			}
			rec := w.call(c.method, c.target, sent, c.header...)
			if rec.Code != c.status {
				t.Fatalf("got %d\n%s", rec.Code, rec.Body)
			}
			if c.status == 403 {
				wantProblem(t, rec, 403, "forbidden")
				job, _ := w.jobs.Get(t.Context(), "job-queued")
				if len(w.jobs.all()) != 1 || job.Status != export.Queued || audited.events[0].Detail != "cross-origin" {
					t.Errorf("it was done all the same, or not kept: %+v", audited.events)
				}
			}
		})
	}
}

func TestEverybodysJobsAreSeenByThoseWhoMay(t *testing.T) {
	open := func(role string) *world {
		return newWorld(t, func(w *world, c *gateway.Config) {
			c.Identity = withRole("u", role)
			mine, other := jobIn(export.Queued), jobIn(export.Succeeded)
			mine.RequestedBy = "u"
			w.jobs = newJobs(mine, other)
			w.files.files["k"] = fileBytes
		})
	}
	manager, operator := open("manager"), open("operator")

	view := decode[gateway.JobView](t, manager.call("GET", "/api/v1/exports/job-succeeded", "").Body)
	if diff := cmp.Diff(gateway.Links{Self: "/api/v1/exports/job-succeeded"}, view.Links); diff != "" || view.RequestedBy != gateway.Subject {
		t.Errorf("another's job by %q (-want +got):\n%s", view.RequestedBy, diff)
	}
	own := decode[gateway.JobView](t, manager.call("GET", "/api/v1/exports/job-queued", "").Body)
	if own.Links.Cancel == "" {
		t.Error("one's own job lacks its links")
	}
	wantProblem(t, operator.call("GET", "/api/v1/exports/job-succeeded", ""), 404, "not-found")
	for _, c := range [][2]string{{"GET", "/file"}, {"DELETE", ""}, {"GET", "/events"}} {
		wantProblem(t, manager.call(c[0], "/api/v1/exports/job-succeeded"+c[1], ""), 404, "not-found")
	}

	all := manager.call("GET", "/api/v1/exports?all=true&limit=2", "")
	if got := manager.jobs.asks[0].RequestedBy; got != "" {
		t.Errorf("everybody's jobs are asked for as those of %q", got)
	}
	if all.Code != 200 {
		t.Errorf("got %d", all.Code)
	}
	p := wantProblem(t, operator.call("GET", "/api/v1/exports?all=true", ""), 403, "forbidden")
	if !strings.Contains(p.Detail, "exports:read-all") {
		t.Error(p.Detail)
	}
	manager.call("GET", "/api/v1/exports", "")
	if got := manager.jobs.asks[1].RequestedBy; got != "u" {
		t.Errorf("one's own jobs are asked for as those of %q", got)
	}
}

func TestTheNextPageOfEverybodysJobsIsEverybodys(t *testing.T) {
	job := jobIn(export.Queued)
	job.RequestedBy = "somebody else"
	w := newWorld(t, withJobs(job))
	if link := w.call("GET", "/api/v1/exports?all=true&limit=1", "").Header().Get("Link"); !strings.Contains(link, "all=true") {
		t.Errorf("Link %q", link)
	}
}

func TestSignInIsServedToStrangers(t *testing.T) {
	in := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: r.URL.Query().Get("x")})
		w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'")
		w.WriteHeader(http.StatusTeapot)
	})
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.SignIn = in })
	for _, c := range [][2]string{{"GET", "/auth/login"}, {"GET", "/auth/callback"}, {"POST", "/auth/logout"}, {"GET", "/auth/development"}, {"POST", "/auth/development"}} {
		rec := w.call(c[0], c[1]+"?x=7", "", "Authorization", "")
		h := rec.Header()
		if rec.Code != http.StatusTeapot || h.Get("Set-Cookie") != "c=7" || h.Get("Content-Security-Policy") != "default-src 'none'; form-action 'self'" || h.Get("X-Request-Id") == "" {
			t.Errorf("%v: %d %v", c, rec.Code, h)
		}
	}
	if strings.Contains(w.log.String(), "x=7") {
		t.Error("the query, which can hold a code, is in the log")
	}
	wantProblem(t, newWorld(t, nil).call("GET", "/auth/login", ""), 404, "not-found")
}

func TestASignInIsKeptAsTheUsers(t *testing.T) {
	audited := &kept{}
	var w *world
	in := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := w.Record(r.Context(), access.Principal{Subject: "u", Name: "N"}, audit.SignIn); err != nil {
			t.Error(err)
		}
	})
	w = newWorld(t, func(_ *world, c *gateway.Config) { c.SignIn, c.Audit = in, audited })
	r := httptest.NewRequest(http.MethodGet, "/auth/callback", nil)
	r.RemoteAddr = "203.0.113.7:1234"
	w.ServeHTTP(httptest.NewRecorder(), r)
	if len(audited.events) != 1 {
		t.Fatalf("kept %+v", audited.events)
	}
	if e := audited.events[0]; e.Action != audit.SignIn || e.Actor != "u" || e.ActorName != "N" || e.Address != "203.0.113.7" || e.RequestID == "" {
		t.Errorf("kept %+v", e)
	}
}

// Each denial is kept, so that they count as calls.
func TestAnotherSiteCannotFillTheAudit(t *testing.T) {
	audited := &kept{}
	w := newWorld(t, func(_ *world, c *gateway.Config) {
		who := withRole(gateway.Subject, "operator")
		who.by = httpedge.ByCookie
		c.Identity, c.Audit, c.Limits = who, audited, gateway.Limits{RatePerSecond: 1, Burst: 2}
	})
	for _, want := range []int{403, 403, 429, 429} {
		if rec := w.call("POST", exportsPath, "{}", "Sec-Fetch-Site", "same-site"); rec.Code != want {
			t.Errorf("got %d, want %d", rec.Code, want)
		}
	}
	if len(audited.events) != 2 {
		t.Errorf("%d denials are kept", len(audited.events))
	}
}
