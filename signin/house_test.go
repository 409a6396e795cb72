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
