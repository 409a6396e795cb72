package signin_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/signin"
)

func TestASessionIsWhatWasSealedHereOrNothing(t *testing.T) {
	h := newHouse(t, nil)
	_, cookie := h.signedIn(t, "user-7", map[string]any{"roles": "admin"})
	raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(i int) string {
		b := append([]byte(nil), raw...)
		b[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	for name, value := range map[string]string{
		"nothing":           "",
		"no base64":         "!" + cookie.Value,
		"a piece":           cookie.Value[:20],
		"another nonce":     flipped(0),
		"other content":     flipped(len(raw) / 2),
		"another seal":      flipped(len(raw) - 1),
		"plain JSON":        base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"user-7","roles":["admin"],"exp":99999999999}`)),
		"more than was set": cookie.Value + "AA",
	} {
		if p, _, err := withCookie(h.in, "rowmill_session", value); fault.KindOf(err) != fault.Unauthorized || p.Subject != "" {
			t.Errorf("%s: %v as %+v", name, err, p)
		}
	}
	if _, _, err := withCookie(h.in, "__Host-rowmill_session", cookie.Value); err == nil {
		t.Error("a cookie of another name is taken")
	}
}

func TestASignInUnderWayIsNoSession(t *testing.T) {
	h := newHouse(t, nil)
	set := get(t, halting(h.browser(t)), h.url+"/auth/login").header.Get("Set-Cookie")
	_, value, _ := strings.Cut(set, "=")
	value, _, _ = strings.Cut(value, ";")
	_, _, err := withCookie(h.in, "rowmill_session", value)
	wantKind(t, err, fault.Unauthorized)
}

func TestKeysOfSessionsRotate(t *testing.T) {
	h := newHouse(t, nil)
	_, old := h.signedIn(t, "user-7", nil)
	for _, c := range []struct {
		keys  []string
		holds bool
	}{
		{[]string{firstKey}, true},
		{[]string{secondKey, firstKey}, true},
		{[]string{secondKey}, false},
	} {
		cfg := h.cfg
		cfg.CookieKeys = c.keys
		if _, _, err := withCookie(newSignIn(t, cfg), old.Name, old.Value); (err == nil) != c.holds {
			t.Errorf("with the keys %q: %v", c.keys, err)
		}
	}
	rotated := newHouse(t, func(c *signin.Config) { c.CookieKeys = []string{secondKey, firstKey} })
	_, fresh := rotated.signedIn(t, "user-7", nil)
	cfg := rotated.cfg
	cfg.CookieKeys = []string{secondKey}
	if _, _, err := withCookie(newSignIn(t, cfg), fresh.Name, fresh.Value); err != nil {
		t.Errorf("the first key does not seal: %v", err)
	}
}

func TestASessionEndsWithItsTokenAndAfterEightHours(t *testing.T) {
	for _, c := range []struct {
		name  string
		token time.Duration
		ends  time.Duration
	}{{"a short token", 10 * time.Minute, 10 * time.Minute}, {"a long token", 48 * time.Hour, 8 * time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			_, cookie := h.signedIn(t, "user-7", map[string]any{"exp": h.clock().Add(c.token).Unix()})
			h.pass(c.ends - 2*time.Second)
			if _, _, err := withCookie(h.in, cookie.Name, cookie.Value); err != nil {
				t.Errorf("just before: %v", err)
			}
			h.pass(2 * time.Second)
			_, _, err := withCookie(h.in, cookie.Name, cookie.Value)
			wantKind(t, err, fault.Unauthorized)
		})
	}
}

func TestASessionOfAnotherIssuerIsNone(t *testing.T) {
	h := newHouse(t, nil)
	_, cookie := h.signedIn(t, "user-7", nil)
	other := h.cfg
	other.Issuer = "https://another.example"
	_, _, err := withCookie(newSignIn(t, other), cookie.Name, cookie.Value)
	wantKind(t, err, fault.Unauthorized)
	development := signin.Config{Development: true, CookieKeys: h.cfg.CookieKeys, Now: h.clock}
	_, _, err = withCookie(newSignIn(t, development), cookie.Name, cookie.Value)
	wantKind(t, err, fault.Unauthorized)
}

func TestThePolicyOfTodayHolds(t *testing.T) {
	h := newHouse(t, nil)
	_, cookie := h.signedIn(t, "user-7", map[string]any{"roles": []string{"manager"}})
	cfg := h.cfg
	cfg.Policy = access.Policy{"manager": {Permissions: []access.Permission{access.ReadAudit}}}
	p, _, err := withCookie(newSignIn(t, cfg), cookie.Name, cookie.Value)
	if diff := cmp.Diff([]access.Permission{access.ReadAudit}, p.Permissions); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPropertiesOutliveTheCookie(t *testing.T) {
	for _, c := range []struct {
		claim      string
		claims     map[string]any
		properties string
	}{
		{"", nil, "null"},
		{"hotels", nil, "[]"},
		{"hotels", map[string]any{"hotels": []any{}}, "[]"},
		{"hotels", map[string]any{"hotels": []int{3}}, "[3]"},
	} {
		h := newHouse(t, func(cfg *signin.Config) { cfg.PropertiesClaim = c.claim })
		_, cookie := h.signedIn(t, "user-7", c.claims)
		p, _, err := withCookie(h.in, cookie.Name, cookie.Value)
		if got := asJSON(t, p.Properties); got != c.properties || err != nil {
			t.Errorf("claim %q of %v: %s, %v", c.claim, c.claims, got, err)
		}
	}
}
