package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/testoidc"
	"rowmill/signin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	staticToken = "a-static-token-for-tests"
	audience    = "rowmill-api"
	firstKey    = "the first secret of the session cookies"
	secondKey   = "another secret of the session cookies"
)

// events collects what was told, and refuses if err is set.
type events struct {
	told []string
	err  error
}

func (e *events) SignedIn(_ context.Context, p access.Principal) error {
	e.told = append(e.told, "in "+p.Subject)
	return e.err
}

func (e *events) SignedOut(_ context.Context, p access.Principal) error {
	e.told = append(e.told, "out "+p.Subject)
	return e.err
}

// house is a server with a sign-in, the issuer it asks, and a clock.
type house struct {
	in     *signin.SignIn
	issuer *testoidc.Issuer
	url    string
	events *events
	log    *bytes.Buffer
	cfg    signin.Config

	mu  sync.Mutex
	now time.Time
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newHouse(t *testing.T, change func(*signin.Config)) *house {
	t.Helper()
	return openHouse(t, testoidc.Start(t), change)
}

func openHouse(t *testing.T, issuer *testoidc.Issuer, change func(*signin.Config)) *house {
	t.Helper()
	h := &house{issuer: issuer, events: &events{}, log: &bytes.Buffer{}, now: time.Now()}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.cfg = signin.Config{
		Issuer: issuer.URL(), ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, RedirectURL: server.URL + "/auth/callback",
		Audience: audience, PropertiesClaim: "hotels", CookieKeys: []string{firstKey}, StaticToken: staticToken,
		HTTP: &http.Client{Transport: transport}, Now: h.clock, Events: h.events, Logger: slog.New(slog.NewTextHandler(h.log, nil)),
	}
	if change != nil {
		change(&h.cfg)
	}
	h.in = newSignIn(t, h.cfg)
	mux.Handle("/auth/", h.in)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if p, _, err := h.in.Authenticate(r); err == nil {
			_, _ = fmt.Fprintf(w, "%s at %s", p.Subject, r.URL.RequestURI())
		}
	})
	return h
}

func newSignIn(t *testing.T, cfg signin.Config) *signin.SignIn {
	t.Helper()
	s, err := signin.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// browser keeps cookies and follows redirects.
func (h *house) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

// halting follows no redirect.
func halting(c *http.Client) *http.Client {
	halted := *c
	halted.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &halted
}

type reply struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, c *http.Client, target string) reply {
	t.Helper()
	return send(t, c, http.MethodGet, target, nil)
}

func send(t *testing.T, c *http.Client, method, target string, form url.Values, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// cookies gives what the browser would send to the house.
func (h *house) cookies(t *testing.T, c *http.Client) []*http.Cookie {
	t.Helper()
	u, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	return c.Jar.Cookies(u)
}

// signedIn signs somebody in and gives the browser and its session cookie.
func (h *house) signedIn(t *testing.T, subject string, claims map[string]any) (*http.Client, *http.Cookie) {
	t.Helper()
	h.issuer.User(subject, claims)
	c := h.browser(t)
	if got := get(t, c, h.url+"/auth/login?return_to=/x"); got.status != 200 || got.body != subject+" at /x" {
		t.Fatalf("not signed in: %d %s\n%s", got.status, got.body, h.log)
	}
	cookies := h.cookies(t, c)
	if len(cookies) != 1 || cookies[0].Name != "rowmill_session" {
		t.Fatalf("after the sign-in the browser has the cookies %v", cookies)
	}
	return c, cookies[0]
}

// withCookie authenticates a call with the cookie's value.
func withCookie(s *signin.SignIn, name, value string) (access.Principal, httpedge.Method, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: name, Value: value})
	return s.Authenticate(r)
}

func withBearer(s *signin.SignIn, token string) (access.Principal, httpedge.Method, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return s.Authenticate(r)
}

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

// wantKind checks an error's kind.
func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Errorf("got %v, want an error of kind %v", err, kind)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
