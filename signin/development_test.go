package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"rowmill/access"
	"rowmill/internal/testoidc"
	"rowmill/signin"
)

func developing(c *signin.Config) {
	*c = signin.Config{Development: true, CookieKeys: c.CookieKeys, Now: c.Now, Events: c.Events, Logger: c.Logger}
}

func TestADeveloperChoosesARole(t *testing.T) {
	h := openHouse(t, testoidc.Prepare(t), developing)
	c := h.browser(t)
	got := get(t, c, h.url+"/auth/login?return_to=/exports")
	for _, want := range []string{`value="/exports"`, `value="viewer"`, `value="admin"`} {
		if !strings.Contains(got.body, want) {
			t.Fatalf("the page lacks %s: %d\n%s", want, got.status, got.body)
		}
	}
	got = send(t, c, http.MethodPost, h.url+"/auth/development", url.Values{"role": {"manager"}, "properties": {"7, 8"}, "return_to": {"/exports"}})
	if got.body != "development-manager at /exports" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	cookie := h.cookies(t, c)[0]
	p, _, err := withCookie(h.in, cookie.Name, cookie.Value)
	if err != nil || !p.May(access.ReadPersonal) || p.May(access.ReadAudit) || asJSON(t, p.Properties) != "[7,8]" {
		t.Errorf("got %+v, %v", p, err)
	}
	if len(h.events.told) != 1 {
		t.Errorf("told %v", h.events.told)
	}
}

func TestARoleIsChosenHereAlone(t *testing.T) {
	h := openHouse(t, testoidc.Prepare(t), developing)
	for _, c := range []struct {
		name, host string
		header     []string
		form       url.Values
		status     int
	}{
		{"our own page", "localhost:8080", []string{"Sec-Fetch-Site", "same-origin"}, url.Values{"role": {"viewer"}}, 303},
		{"by the address", "127.0.0.1:8080", nil, url.Values{"role": {"viewer"}}, 303},
		{"by the other address", "[::1]:8080", nil, url.Values{"role": {"viewer"}}, 303},
		{"another site", "localhost:8080", []string{"Sec-Fetch-Site", "cross-site"}, url.Values{"role": {"viewer"}}, 403},
		{"another site by its origin", "localhost:8080", []string{"Origin", "https://evil.example"}, url.Values{"role": {"viewer"}}, 403},
		{"a name that leads here", "evil.example:8080", []string{"Sec-Fetch-Site", "same-origin"}, url.Values{"role": {"viewer"}}, 403},
		{"a name that begins alike", "localhost.evil.example", nil, url.Values{"role": {"viewer"}}, 403},
		{"through a proxy", "localhost", []string{"X-Forwarded-For", "203.0.113.7"}, url.Values{"role": {"viewer"}}, 403},
		{"through a proxy that names itself", "localhost", []string{"Via", "1.1 cache"}, url.Values{"role": {"viewer"}}, 403},
		{"through a proxy that names the caller", "localhost", []string{"X-Real-IP", "203.0.113.7"}, url.Values{"role": {"viewer"}}, 403},
		{"through a proxy that speaks https", "localhost", []string{"X-Forwarded-Proto", "https"}, url.Values{"role": {"viewer"}}, 403},
		{"a role that is none", "localhost", nil, url.Values{"role": {"root"}}, 400},
		{"no role", "localhost", nil, url.Values{}, 400},
		{"a form past the bound", "localhost", nil, url.Values{"role": {strings.Repeat("x", 10_000)}}, 400},
		{"a way back that leads off", "localhost", nil, url.Values{"role": {"viewer"}, "return_to": {"//evil.example"}}, 303},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/auth/development", strings.NewReader(c.form.Encode()))
			r.Host = c.host
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for i := 0; i < len(c.header); i += 2 {
				r.Header.Set(c.header[i], c.header[i+1])
			}
			w := httptest.NewRecorder()
			h.in.ServeHTTP(w, r)
			if w.Code != c.status || (w.Header().Get("Set-Cookie") != "") != (c.status == 303) {
				t.Errorf("got %d, %v", w.Code, w.Header())
			}
			if to := w.Header().Get("Location"); c.status == 303 && to != "/" {
				t.Errorf("leads to %q", to)
			}
		})
	}
}

func TestPropertiesThatAreNoneShowNothing(t *testing.T) {
	h := openHouse(t, testoidc.Prepare(t), developing)
	for given, want := range map[string]string{"": "null", "  ": "null", "7": "[7]", "7,x": "[]", ",": "[]"} {
		c := h.browser(t)
		send(t, c, http.MethodPost, h.url+"/auth/development", url.Values{"role": {"viewer"}, "properties": {given}})
		cookie := h.cookies(t, c)[0]
		if p, _, err := withCookie(h.in, cookie.Name, cookie.Value); err != nil || asJSON(t, p.Properties) != want {
			t.Errorf("%q: %s, %v", given, asJSON(t, p.Properties), err)
		}
	}
}

func TestNoRoleIsChosenWhereUsersSignIn(t *testing.T) {
	h := newHouse(t, nil)
	c := h.browser(t)
	if got := get(t, c, h.url+"/auth/development"); got.status != 404 {
		t.Errorf("the page: %d", got.status)
	}
	if got := send(t, c, http.MethodPost, h.url+"/auth/development", url.Values{"role": {"admin"}}); got.status != 404 || len(h.cookies(t, c)) != 0 {
		t.Errorf("the form: %d", got.status)
	}
}

func TestWithTheTokenAloneNobodySignsIn(t *testing.T) {
	h := openHouse(t, testoidc.Prepare(t), func(c *signin.Config) { *c = signin.Config{StaticToken: staticToken} })
	c := h.browser(t)
	for _, path := range []string{"/auth/login", "/auth/callback", "/auth/development"} {
		if got := get(t, c, h.url+path); got.status != 404 || strings.Contains(got.body, "<a ") {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if _, _, err := withCookie(h.in, "rowmill_session", "x"); err == nil {
		t.Error("a cookie is taken")
	}
}

func TestPagesRunNothing(t *testing.T) {
	h := openHouse(t, testoidc.Prepare(t), developing)
	got := get(t, h.browser(t), h.url+`/auth/development?return_to=`+url.QueryEscape(`/"><script>alert(1)</script>`))
	if strings.Contains(got.body, "<script") {
		t.Error("what the caller sends is markup")
	}
	csp := got.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy lacks %q: %s", want, csp)
		}
	}
}
