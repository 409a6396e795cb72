package signin_test

import (
	"maps"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/testoidc"
	"rowmill/signin"
)

// claims are those of a good token, with some changed; nil takes one away.
func (h *house) claims(change map[string]any) map[string]any {
	all := map[string]any{
		"iss": h.issuer.URL(), "aud": []string{"other-api", audience}, "sub": "user-7", "roles": []string{"viewer"}, "hotels": []int{7},
		"exp": h.clock().Add(5 * time.Minute).Unix(), "iat": h.clock().Unix(),
	}
	maps.Copy(all, change)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

func TestABearerTokenHoldsOrNot(t *testing.T) {
	h := newHouse(t, nil)
	now := h.clock()
	good := h.issuer.Token(t, h.claims(nil))
	parts := strings.Split(good, ".")
	for _, c := range []struct {
		name, token string
		ok          bool
	}{
		{"a good one", good, true},
		{"one audience as a text", h.issuer.Token(t, h.claims(map[string]any{"aud": audience})), true},
		{"another audience", h.issuer.Token(t, h.claims(map[string]any{"aud": "other-api"})), false},
		{"the browser's audience", h.issuer.Token(t, h.claims(map[string]any{"aud": h.issuer.ClientID})), false},
		{"no audience", h.issuer.Token(t, h.claims(map[string]any{"aud": nil})), false},
		{"another issuer", h.issuer.Token(t, h.claims(map[string]any{"iss": h.issuer.URL() + "/"})), false},
		{"no issuer", h.issuer.Token(t, h.claims(map[string]any{"iss": nil})), false},
		{"expired", h.issuer.Token(t, h.claims(map[string]any{"exp": now.Add(-time.Second).Unix()})), false},
		{"without an end", h.issuer.Token(t, h.claims(map[string]any{"exp": nil})), false},
		{"of the future", h.issuer.Token(t, h.claims(map[string]any{"nbf": now.Add(time.Hour).Unix()})), false},
		{"of nobody", h.issuer.Token(t, h.claims(map[string]any{"sub": nil})), false},
		{"of the developer", h.issuer.Token(t, h.claims(map[string]any{"sub": signin.Subject})), false},
		{"by no algorithm", testoidc.Unsigned(t, h.claims(nil)), false},
		{"by the public key as a secret", h.issuer.HMAC(t, h.claims(nil)), false},
		{"without its signature", parts[0] + "." + parts[1] + ".", false},
		{"with another's content", parts[0] + "." + strings.Split(h.issuer.Token(t, h.claims(map[string]any{"sub": "x"})), ".")[1] + "." + parts[2], false},
		{"of another key", testoidc.Foreign(t, h.claims(nil)), false},
		{"no token at all", "a.b.c", false},
		{"a word", "word", false},
		{"the static one", staticToken, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, method, err := withBearer(h.in, c.token)
			if method != httpedge.ByBearer {
				t.Errorf("method %d", method)
			}
			if (err == nil) != c.ok || (p.Subject != "") != c.ok {
				t.Fatalf("got %v as %+v", err, p)
			}
			if !c.ok {
				wantKind(t, err, fault.Unauthorized)
			}
		})
	}
}

func TestTheStaticTokenIsTheDeveloper(t *testing.T) {
	h := newHouse(t, nil)
	p, _, err := withBearer(h.in, staticToken)
	if diff := cmp.Diff(access.Principal{Subject: "developer", Name: "developer", Permissions: access.Permissions()}, p); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	h.cfg.StaticToken = ""
	_, _, err = withBearer(newSignIn(t, h.cfg), staticToken)
	wantKind(t, err, fault.Unauthorized)
}

func TestWithoutAnAudienceNoIssuersTokenIsTaken(t *testing.T) {
	h := newHouse(t, func(c *signin.Config) { c.Audience = "" })
	for _, aud := range []string{"", h.issuer.ClientID, audience} {
		_, _, err := withBearer(h.in, h.issuer.Token(t, h.claims(map[string]any{"aud": aud})))
		wantKind(t, err, fault.Unauthorized)
	}
	if n := h.issuer.KeysAsked(); n != 0 {
		t.Errorf("the issuer was asked for its keys %d times in vain", n)
	}
}

func TestABearerGoesBeforeACookie(t *testing.T) {
	h := newHouse(t, nil)
	_, cookie := h.signedIn(t, "user-7", nil)
	for authorization, want := range map[string]struct {
		subject string
		method  httpedge.Method
	}{
		"Bearer " + staticToken: {"developer", httpedge.ByBearer},
		"Bearer wrong":          {"", httpedge.ByBearer},
		"Basic eDp5":            {"user-7", httpedge.ByCookie}, // of a proxy before us
		"":                      {"user-7", httpedge.ByCookie},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(cookie)
		r.Header.Set("Authorization", authorization)
		if p, method, _ := h.in.Authenticate(r); p.Subject != want.subject || method != want.method {
			t.Errorf("%q: %q by %d", authorization, p.Subject, method)
		}
	}
}

func TestClaimsSayWhoAndWhat(t *testing.T) {
	for _, c := range []struct {
		name                        string
		rolesClaim, propertiesClaim string
		claims                      map[string]any
		roles                       []string
		who, properties             string
	}{
		{"a list", "roles", "hotels", map[string]any{"roles": []string{"viewer", "auditor"}, "hotels": []any{1, "2"}, "name": "N"}, []string{"viewer", "auditor"}, "N", "[1,2]"},
		{"one role as a text", "roles", "hotels", map[string]any{"roles": "viewer"}, []string{"viewer"}, "", "[7]"},
		{"a path", "realm_access.roles", "app.hotels", map[string]any{"realm_access": map[string]any{"roles": []string{"admin"}}, "app": map[string]any{"hotels": []int{5}}}, []string{"admin"}, "", "[5]"},
		{"a name with dots", "https://x.example/roles", "", map[string]any{"https://x.example/roles": []string{"admin"}, "preferred_username": "u"}, []string{"admin"}, "u", "null"},
		{"roles that the policy has not", "roles", "", map[string]any{"roles": []string{"root", "viewer"}}, []string{"viewer"}, "", "null"},
		{"no roles", "roles", "", map[string]any{"roles": nil}, nil, "", "null"},
		{"roles of another shape", "roles", "", map[string]any{"roles": map[string]any{"admin": true}}, nil, "", "null"},
		{"roles that are no texts", "roles", "", map[string]any{"roles": []any{1, nil, []string{"admin"}}}, nil, "", "null"},
		{"a path through no object", "roles.admin", "", map[string]any{}, nil, "", "null"},
		{"no claim asked for", "none", "", map[string]any{}, nil, "", "null"},
		{"no properties", "none", "hotels", map[string]any{"hotels": nil}, nil, "", "[]"},
		{"an empty list", "none", "hotels", map[string]any{"hotels": []int{}}, nil, "", "[]"},
		{"a number alone", "none", "hotels", map[string]any{"hotels": 7}, nil, "", "[]"},
		{"a text alone", "none", "hotels", map[string]any{"hotels": "*"}, nil, "", "[]"},
		{"one that is no id", "none", "hotels", map[string]any{"hotels": []any{7, "all"}}, nil, "", "[]"},
		{"a fraction", "none", "hotels", map[string]any{"hotels": []any{7.5}}, nil, "", "[]"},
		{"a negative one", "none", "hotels", map[string]any{"hotels": []any{-1}}, nil, "", "[]"},
		{"nought", "none", "hotels", map[string]any{"hotels": []any{0}}, nil, "", "[]"},
		{"a large id as a text", "none", "hotels", map[string]any{"hotels": []any{"9007199254740993"}}, nil, "", "[9007199254740993]"},
		{"one past all ids", "none", "hotels", map[string]any{"hotels": []any{"9223372036854775808"}}, nil, "", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, func(cfg *signin.Config) { cfg.RolesClaim, cfg.PropertiesClaim = c.rolesClaim, c.propertiesClaim })
			p, _, err := withBearer(h.in, h.issuer.Token(t, h.claims(c.claims)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.roles, p.Roles); diff != "" || p.Name != c.who || asJSON(t, p.Properties) != c.properties {
				t.Errorf("name %q, properties %s, roles (-want +got):\n%s", p.Name, asJSON(t, p.Properties), diff)
			}
		})
	}
}

func TestTheIssuersKeysRotate(t *testing.T) {
	h := newHouse(t, nil)
	old := h.issuer.Token(t, h.claims(nil))
	if _, _, err := withBearer(h.in, old); err != nil {
		t.Fatal(err)
	}
	h.issuer.Rotate(t)
	fresh := h.issuer.Token(t, h.claims(nil))
	for range 20 { // keys that were read just now are not read again for whoever comes
		_, _, err := withBearer(h.in, fresh)
		wantKind(t, err, fault.Unauthorized)
	}
	if n := h.issuer.KeysAsked(); n != 1 {
		t.Errorf("the keys were read %d times", n)
	}
	h.pass(11 * time.Second)
	soon(t, "the new key holds", func() bool {
		_, _, err := withBearer(h.in, fresh)
		return err == nil
	})
	soon(t, "the old key holds no longer", func() bool {
		_, _, err := withBearer(h.in, old)
		return fault.KindOf(err) == fault.Unauthorized && err != nil
	})
}

// soon waits for what is true once go-oidc has put a read of the keys away: a call
// that comes just before gets the result of that read again.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 100_000 {
		if holds() {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("never came true: %s", what)
}

func TestAnIssuerThatIsDownIsNotTheCallersFault(t *testing.T) {
	issuer := testoidc.Prepare(t)
	h := openHouse(t, issuer, nil)
	token := issuer.Token(t, h.claims(nil))
	_, method, err := withBearer(h.in, token)
	wantKind(t, err, fault.Unavailable)
	if method != httpedge.ByBearer {
		t.Errorf("method %d", method)
	}
	if got := get(t, h.browser(t), h.url+"/auth/login"); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("login: %d", got.status)
	}
	if _, _, err := withBearer(h.in, staticToken); err != nil {
		t.Errorf("the static token: %v", err)
	}
	_, _, err = withBearer(h.in, "word")
	wantKind(t, err, fault.Unauthorized)

	issuer.Run(t)
	_, _, err = withBearer(h.in, token)
	wantKind(t, err, fault.Unavailable) // it is left alone for a moment
	h.pass(6 * time.Second)
	if _, _, err := withBearer(h.in, token); err != nil {
		t.Errorf("once it is up: %v", err)
	}
}

func TestKeysThatCannotBeReadAreNotTheCallersFault(t *testing.T) {
	h := newHouse(t, nil)
	if _, _, err := withBearer(h.in, h.issuer.Token(t, h.claims(nil))); err != nil {
		t.Fatal(err)
	}
	h.issuer.Rotate(t)
	h.pass(11 * time.Second)
	h.issuer.Refuse(http.StatusInternalServerError)
	fresh := h.issuer.Token(t, h.claims(nil))
	soon(t, "the keys cannot be read", func() bool {
		_, _, err := withBearer(h.in, fresh)
		return fault.KindOf(err) == fault.Unavailable
	})
	soon(t, "they can be read", func() bool {
		_, _, err := withBearer(h.in, fresh)
		return err == nil
	})
}

func TestACodeThatTheIssuerCannotTellIsNotTheCallersFault(t *testing.T) {
	h := newHouse(t, nil)
	c := h.browser(t)
	callback := h.begun(t, c)
	h.issuer.Refuse(http.StatusBadGateway)
	h.issuer.Refuse(http.StatusBadGateway) // the client tries both ways of giving its secret
	if got := get(t, halting(c), callback); got.status != 503 {
		t.Errorf("got %d", got.status)
	}
}
