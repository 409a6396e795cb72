package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/httpedge"
	"rowmill/signin"
)

func TestABrowserSignsInAndOut(t *testing.T) {
	h := newHouse(t, nil)
	h.issuer.User("user-7", map[string]any{"name": "김영희", "roles": []string{"operator", "offline_access"}, "hotels": []any{7, "8"}})
	c := h.browser(t)
	got := get(t, c, h.url+"/auth/login?return_to="+url.QueryEscape("/exports?status=failed"))
	if got.body != "user-7 at /exports?status=failed" {
		t.Fatalf("got %d %q", got.status, got.body)
	}
	cookies := h.cookies(t, c)
	p, method, err := withCookie(h.in, cookies[0].Name, cookies[0].Value)
	want := access.Principal{
		Subject: "user-7", Name: "김영희", Roles: []string{"operator"}, MaxRows: 200_000,
		Permissions: []access.Permission{access.ReadReservations, access.CreateExports}, Properties: []int64{7, 8},
	}
	if diff := cmp.Diff(want, p); diff != "" || err != nil || method != httpedge.ByCookie {
		t.Errorf("method %d, error %v (-want +got):\n%s", method, err, diff)
	}
	if strings.Contains(cookies[0].Value, "user-7") {
		t.Error("the cookie can be read")
	}
	if got := send(t, c, http.MethodPost, h.url+"/auth/logout", nil); got.status != 200 || !strings.Contains(got.body, "signed out") {
		t.Errorf("sign-out: %d %s", got.status, got.body)
	}
	if left := h.cookies(t, c); len(left) != 0 {
		t.Errorf("after the sign-out there is %v", left)
	}
	if diff := cmp.Diff([]string{"in user-7", "out user-7"}, h.events.told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"김영희", cookies[0].Value, firstKey, h.issuer.ClientSecret} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestCookiesAreKeptFromScriptsAndOtherSites(t *testing.T) {
	for _, secure := range []bool{false, true} {
		h := newHouse(t, func(c *signin.Config) { c.Secure = secure })
		got := get(t, halting(h.browser(t)), h.url+"/auth/login")
		set := got.header.Get("Set-Cookie")
		name, _, _ := strings.Cut(set, "=")
		if got.status != http.StatusSeeOther || strings.HasPrefix(name, "__Host-rowmill_signin_") != secure || strings.Contains(set, "; Secure") != secure {
			t.Errorf("secure %v: %d %s", secure, got.status, set)
		}
		for _, attribute := range []string{"; HttpOnly", "; SameSite=Lax", "; Path=/;", "; Max-Age=600"} {
			if !strings.Contains(set, attribute) {
				t.Errorf("the cookie lacks %q: %s", attribute, set)
			}
		}
		if strings.Contains(set, "Domain") {
			t.Errorf("the cookie goes to other hosts: %s", set)
		}
	}
}

func TestTheIssuerIsAskedWithStateNonceAndPKCE(t *testing.T) {
	h := newHouse(t, nil)
	seen := map[string]bool{}
	for range 2 {
		to, err := url.Parse(get(t, halting(h.browser(t)), h.url+"/auth/login").header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		q := to.Query()
		for _, key := range []string{"state", "nonce", "code_challenge"} {
			if v := q.Get(key); len(v) < 22 || seen[v] {
				t.Errorf("%s is %q: short, or used before", key, v)
			}
			seen[q.Get(key)] = true
		}
		if q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" || q.Get("redirect_uri") != h.cfg.RedirectURL || q.Has("client_secret") {
			t.Errorf("asked %v", q)
		}
	}
}

func TestTwoTabsSignInAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	c := h.browser(t)
	first := get(t, halting(c), h.url+"/auth/login?return_to=/first").header.Get("Location")
	second := get(t, halting(c), h.url+"/auth/login?return_to=/second").header.Get("Location")
	for at, path := range map[string]string{first: "/first", second: "/second"} {
		if got := get(t, c, at); !strings.HasSuffix(got.body, path) {
			t.Errorf("got %q, want to be at %s", got.body, path)
		}
	}
}

func TestASignInThatCannotBeRecordedFails(t *testing.T) {
	h := newHouse(t, nil)
	h.events.err = errors.New("the audit is full")
	c := h.browser(t)
	if got := get(t, c, h.url+"/auth/login"); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "5" || strings.Contains(got.body, "full") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if cookies := h.cookies(t, c); len(cookies) != 0 {
		t.Errorf("signed in all the same: %v", cookies)
	}
}

func TestASessionThatNoBrowserWouldKeepIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	ids := make([]int, 2000)
	for i := range ids {
		ids[i] = 1_000_000 + i
	}
	h.issuer.User("u", map[string]any{"hotels": ids})
	c := h.browser(t)
	if got := get(t, c, h.url+"/auth/login"); got.status != http.StatusForbidden || !strings.Contains(got.body, "too long a list") || len(h.cookies(t, c)) != 0 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestAPrintedSignInShowsNoSecret(t *testing.T) {
	h := newHouse(t, nil)
	text := fmt.Sprintf("%+v", *h.in)
	for _, secret := range []string{firstKey, staticToken, h.issuer.ClientSecret} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the text", secret)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  signin.Config
		want []string
	}{
		{"nothing", signin.Config{}, []string{"no way to sign in"}},
		{"an issuer alone", signin.Config{Issuer: "https://x"}, []string{"ClientID", "RedirectURL", "CookieKeys are missing"}},
		{"two ways that exclude each other", signin.Config{Issuer: "https://x", ClientID: "c", RedirectURL: "r", CookieKeys: []string{firstKey}, Development: true}, []string{"no Issuer"}},
		{"a short key", signin.Config{Development: true, CookieKeys: []string{firstKey, "short"}}, []string{"fewer than 32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := signin.New(t.Context(), c.cfg)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}
