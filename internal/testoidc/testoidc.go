// Package testoidc gives tests a throw-away OpenID Connect issuer, and tokens of it
// that hold whatever a test wants them to.
package testoidc

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
)

// Issuer is an issuer that runs until the test ends.
type Issuer struct {
	ClientID, ClientSecret string

	mock      *mockoidc.MockOIDC
	addr      string
	keysAsked atomic.Int64
}

// Prepare gives an issuer that has an address and does not run yet.
func Prepare(t testing.TB) *Issuer {
	t.Helper()
	ln := listen(t, "127.0.0.1:0")
	i := &Issuer{addr: ln.Addr().String()}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if i.mock, err = mockoidc.NewServer(nil); err != nil {
		t.Fatal(err)
	}
	i.ClientID, i.ClientSecret = i.mock.ClientID, i.mock.ClientSecret
	err = i.mock.AddMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == mockoidc.JWKSEndpoint {
				i.keysAsked.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Start gives an issuer that runs.
func Start(t testing.TB) *Issuer {
	t.Helper()
	i := Prepare(t)
	i.Run(t)
	return i
}

// Run lets the issuer answer at its address from now on.
func (i *Issuer) Run(t testing.TB) {
	t.Helper()
	if err := i.mock.Start(listen(t, i.addr), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Stop(t) })
}

// Stop ends the issuer; ending it again does nothing.
func (i *Issuer) Stop(t testing.TB) {
	t.Helper()
	if err := i.mock.Server.Close(); err != nil {
		t.Error(err)
	}
}

func listen(t testing.TB, addr string) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// URL is the issuer's name.
func (i *Issuer) URL() string { return "http://" + i.addr + mockoidc.IssuerBase }

// KeysAsked says how often the key set was read.
func (i *Issuer) KeysAsked() int64 { return i.keysAsked.Load() }

// Rotate gives the issuer a new key; the old one is forgotten.
func (i *Issuer) Rotate(t testing.TB) {
	t.Helper()
	pair, err := mockoidc.RandomKeypair(2048)
	if err != nil {
		t.Fatal(err)
	}
	i.mock.Keypair = pair
}

// Refuse lets the issuer answer the next call with an error.
func (i *Issuer) Refuse(status int) {
	i.mock.QueueError(&mockoidc.ServerError{Code: status, Error: "server_error", Description: "as the test wants it"})
}

// Token signs the claims with the issuer's key, by RS256.
func (i *Issuer) Token(t testing.TB, claims map[string]any) string {
	t.Helper()
	token, err := i.mock.Keypair.SignJWT(jwt.MapClaims(claims))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// HMAC signs the claims with the issuer's public key as if it were a secret.
func (i *Issuer) HMAC(t testing.TB, claims map[string]any) string {
	t.Helper()
	kid, err := i.mock.Keypair.KeyID()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := json.Marshal(jose.JSONWebKey{Key: i.mock.Keypair.PublicKey})
	if err != nil {
		t.Fatal(err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims))
	token.Header["kid"] = kid
	signed, err := token.SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// Unsigned gives the claims by the algorithm "none".
func Unsigned(t testing.TB, claims map[string]any) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims(claims)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// User lets the next who signs in be the subject, with these claims besides.
func (i *Issuer) User(subject string, claims map[string]any) {
	i.mock.QueueUser(user{subject, claims})
}

// user is somebody whose ID token holds the claims, which win over the issuer's own.
type user struct {
	subject string
	claims  map[string]any
}

func (u user) ID() string                        { return u.subject }
func (u user) Userinfo([]string) ([]byte, error) { return json.Marshal(u.claims) }

func (u user) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	b, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, u.claims)
	return all, nil
}

// Foreign signs the claims with a key that no issuer has, under no key's id.
func Foreign(t testing.TB, claims map[string]any) string {
	t.Helper()
	pair, err := mockoidc.RandomKeypair(2048)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(claims)).SignedString(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
