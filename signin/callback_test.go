package signin_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

// begun is a sign-in at the point where the issuer has sent the browser back.
func (h *house) begun(t *testing.T, c *http.Client) (callback string) {
	t.Helper()
	authorize := get(t, halting(c), h.url+"/auth/login?return_to=/x").header.Get("Location")
	return get(t, halting(c), authorize).header.Get("Location")
}

// changed gives the address with a parameter set, or taken away by "".
func changed(t *testing.T, address, key, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(key, value)
	if value == "" {
		q.Del(key)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func TestACallbackThatIsNotOfThisSignInIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims map[string]any
		spoil  func(t *testing.T, h *house, callback string) string
		status int
	}{
		{"another state", nil, func(t *testing.T, _ *house, at string) string {
			u, _ := url.Parse(at)
			return changed(t, at, "state", u.Query().Get("state")[:20]+"AAAAAA")
		}, 400},
		{"a state of another beginning", nil, func(t *testing.T, _ *house, at string) string {
			return changed(t, at, "state", "AAAAAAAAAAAAAAAAAAAAAAAAAA")
		}, 400},
		{"no state", nil, func(t *testing.T, _ *house, at string) string { return changed(t, at, "state", "") }, 400},
		{"another issuer's answer", nil, func(t *testing.T, _ *house, at string) string { return changed(t, at, "iss", "https://evil.example") }, 400},
		{"no code", nil, func(t *testing.T, _ *house, at string) string { return changed(t, at, "code", "") }, 403},
		{"an error", nil, func(t *testing.T, _ *house, at string) string { return changed(t, at, "error", "access_denied") }, 403},
		{"another code", nil, func(t *testing.T, _ *house, at string) string { return changed(t, at, "code", "x") }, 401},
		{"too late", nil, func(_ *testing.T, h *house, at string) string { h.pass(11 * time.Minute); return at }, 400},
		{"another nonce", map[string]any{"nonce": "another"}, nil, 401},
		{"no nonce", map[string]any{"nonce": ""}, nil, 401},
		{"a token for another client", map[string]any{"aud": "another"}, nil, 401},
		{"a token of another issuer", map[string]any{"iss": "https://evil.example"}, nil, 401},
		{"a token that has expired", map[string]any{"exp": 1}, nil, 401},
		{"a token of nobody", map[string]any{"sub": ""}, nil, 401},
		{"a token of the developer", map[string]any{"sub": "developer"}, nil, 401},
		{"a token of what is no user", map[string]any{"sub": "system"}, nil, 401},
		{"a subject that a database takes for another", map[string]any{"sub": "ann "}, nil, 401},
		{"a subject that a reader takes for another", map[string]any{"sub": "an\u200bn"}, nil, 401},
		{"a subject of bytes", map[string]any{"sub": "ann\ufffd"}, nil, 401},
		{"a subject of two lines", map[string]any{"sub": "ann\nbob"}, nil, 401},
		{"a subject longer than any", map[string]any{"sub": strings.Repeat("x", 256)}, nil, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.issuer.User("user-7", c.claims)
			browser := h.browser(t)
			callback := h.begun(t, browser)
			if c.spoil != nil {
				callback = c.spoil(t, h, callback)
			}
			got := get(t, halting(browser), callback)
			if got.status != c.status || !strings.Contains(got.body, "Not signed in") {
				t.Errorf("got %d, want %d\n%s", got.status, c.status, got.body)
			}
			if strings.Contains(got.header.Get("Set-Cookie"), "rowmill_session") || len(h.events.told) != 0 {
				t.Errorf("signed in all the same: %v %v", got.header, h.events.told)
			}
		})
	}
}

func TestACallbackIsGoodForOneSignIn(t *testing.T) {
	h := newHouse(t, nil)
	c := h.browser(t)
	callback := h.begun(t, c)
	kept := h.cookies(t, c)
	if got := get(t, halting(c), callback); got.status != http.StatusSeeOther {
		t.Fatalf("got %d", got.status)
	}
	if got := get(t, halting(c), callback); got.status != 400 {
		t.Errorf("the same browser: %d", got.status)
	}
	if got := get(t, halting(h.browser(t)), callback); got.status != 400 {
		t.Errorf("another browser: %d", got.status)
	}
	thief := h.browser(t)
	jar, _ := cookiejar.New(nil)
	u, _ := url.Parse(h.url)
	jar.SetCookies(u, kept)
	thief.Jar = jar
	if got := get(t, halting(thief), callback); got.status != 401 {
		t.Errorf("a browser that kept the sign-in's cookie: %d", got.status)
	}
}

func TestASignInOfAnotherBrowserIsNotTakenOver(t *testing.T) {
	h := newHouse(t, nil)
	attacker, victim := h.browser(t), h.browser(t)
	callback := h.begun(t, attacker)
	h.begun(t, victim)
	if got := get(t, halting(victim), callback); got.status != 400 {
		t.Errorf("the victim is signed in as the attacker: %d", got.status)
	}
}

func TestTheWayBackStaysHere(t *testing.T) {
	h := newHouse(t, nil)
	for returnTo, want := range map[string]string{
		"":                              "/",
		"/":                             "/",
		"/exports?all=true&x=a%2Fb":     "/exports?all=true&x=a%2Fb",
		"/예약":                           "/예약",
		"exports":                       "/",
		"//evil.example":                "/",
		"///evil.example":               "/",
		"/\\evil.example":               "/",
		"\\\\evil.example":              "/",
		"/\t/evil.example":              "/",
		"\t//evil.example":              "/",
		"/\n/evil.example":              "/",
		"/x\r\nSet-Cookie: a=b":         "/",
		"/%2f/evil.example":             "/",
		"https://evil.example":          "/",
		"javascript:alert(1)":           "/",
		"/auth/login":                   "/",
		"/auth/logout":                  "/",
		"/" + strings.Repeat("x", 2000): "/",
	} {
		c := h.browser(t)
		authorize := get(t, halting(c), h.url+"/auth/login?return_to="+url.QueryEscape(returnTo)).header.Get("Location")
		callback := get(t, halting(c), authorize).header.Get("Location")
		if got := get(t, halting(c), callback); got.header.Get("Location") != want {
			t.Errorf("%q leads to %q, want %q", returnTo, got.header.Get("Location"), want)
		}
	}
}

func TestAnotherSiteSignsNobodyOut(t *testing.T) {
	h := newHouse(t, nil)
	c, _ := h.signedIn(t, "user-7", nil)
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
	} {
		if got := send(t, c, http.MethodPost, h.url+"/auth/logout", nil, header...); got.status != 403 || len(h.cookies(t, c)) != 1 {
			t.Errorf("%v: %d", header, got.status)
		}
	}
	if got := get(t, c, h.url+"/auth/logout"); got.status != 405 || len(h.cookies(t, c)) != 1 {
		t.Errorf("a mere link signs out: %d", got.status)
	}
	if got := send(t, c, http.MethodPost, h.url+"/auth/logout", nil, "Sec-Fetch-Site", "same-origin"); got.status != 200 || len(h.cookies(t, c)) != 0 {
		t.Errorf("our own page: %d", got.status)
	}
}

func TestASignOutHappensEvenUnrecorded(t *testing.T) {
	h := newHouse(t, nil)
	c, _ := h.signedIn(t, "user-7", nil)
	h.events.err = http.ErrServerClosed
	if got := send(t, c, http.MethodPost, h.url+"/auth/logout", nil); got.status != 200 || len(h.cookies(t, c)) != 0 {
		t.Errorf("got %d", got.status)
	}
	if !strings.Contains(h.log.String(), "sign-out not recorded") {
		t.Error("the log does not say that it was not recorded")
	}
}
