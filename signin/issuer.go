package signin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"rowmill/internal/fault"
)

const (
	discoveryTimeout = 5 * time.Second
	// retryAfter is how long an issuer that did not answer is left alone.
	retryAfter = 5 * time.Second
	// keysFor is how long the issuer's keys are not asked for again, so that tokens
	// with made-up key ids cannot make us flood it.
	keysFor = 10 * time.Second
	maxKeys = 1 << 20 // bytes of a key set
)

// algorithms are those whose secret stays with the issuer. "none" and the HMACs
// are not among them, whatever its metadata say.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// issuer is the OpenID Connect provider, found when it is first needed.
type issuer struct {
	url    string
	oauth  oauth2.Config // without its endpoint
	now    func() time.Time
	client *http.Client
	keys   context.Context // a bag for the keys' HTTP client, as go-oidc wants it; it never ends

	turn  chan struct{} // one asks at a time
	found *found        // under turn
	asked time.Time     // when it last failed; under turn
	err   error         // why; under turn
}

// found is what the metadata say.
type found struct {
	endpoint oauth2.Endpoint
	keys     oidc.KeySet
}

func newIssuer(ctx context.Context, cfg Config) *issuer {
	fetch := &keyFetch{base: cfg.HTTP.Transport, now: cfg.Now}
	if fetch.base == nil {
		fetch.base = http.DefaultTransport
	}
	keys := oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Transport: fetch, Timeout: discoveryTimeout})
	return &issuer{
		url: cfg.Issuer, now: cfg.Now, turn: make(chan struct{}, 1), client: cfg.HTTP, keys: keys,
		oauth: oauth2.Config{ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret, RedirectURL: cfg.RedirectURL, Scopes: []string{oidc.ScopeOpenID, "profile"}},
	}
}

// discover gives the metadata. The error is Unavailable.
func (i *issuer) discover(ctx context.Context) (*found, error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	defer func() { <-i.turn }()
	if i.found == nil && (i.err == nil || i.now().Sub(i.asked) >= retryAfter) {
		i.found, i.err = i.ask(ctx)
		i.asked = i.now()
	}
	if i.err != nil {
		return nil, unavailable(i.err)
	}
	return i.found, nil
}

// ask reads the metadata, for all who wait: it does not end with one of them.
func (i *issuer) ask(ctx context.Context) (*found, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), i.client), discoveryTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	var metadata struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, fmt.Errorf("read the issuer's metadata: %w", err)
	}
	keys := oidc.NewRemoteKeySet(i.keys, metadata.Keys) //nolint:contextcheck // it lives longer than the call that found it
	return &found{endpoint: provider.Endpoint(), keys: keySet{keys}}, nil
}

// verify checks a token's signature, issuer, audience and time. The error is
// Unauthorized, or Unavailable if the issuer is needed and does not answer.
func (i *issuer) verify(ctx context.Context, token, audience string) (*oidc.IDToken, error) {
	f, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	var down error
	verifier := oidc.NewVerifier(i.url, f.keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: i.now})
	verified, err := verifier.Verify(context.WithValue(ctx, downKey{}, &down), token)
	switch _, expired := errors.AsType[*oidc.TokenExpiredError](err); {
	case err == nil:
		return verified, nil
	case down != nil:
		return nil, unavailable(down)
	case expired:
		return nil, fault.Wrap(err, fault.Unauthorized, "The token has expired.")
	}
	return nil, fault.Wrap(err, fault.Unauthorized, "The token is not valid.")
}

// config gives the client at the issuer's endpoints.
func (f *found) config(i *issuer) *oauth2.Config {
	c := i.oauth
	c.Endpoint = f.endpoint
	return &c
}

func unavailable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "The sign-in service does not answer just now. Try again soon.")
}

// keySet tells by the context's downKey when the keys could not be had: the
// verifier makes one error of that and of a wrong signature.
type keySet struct{ remote *oidc.RemoteKeySet }

type downKey struct{}

func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, token)
	_, unreachable := errors.AsType[*unreachableError](err)
	if down, ok := ctx.Value(downKey{}).(*error); ok && (unreachable || ctx.Err() != nil) {
		*down = err
	}
	return payload, err
}

// unreachableError means that the keys could not be had.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return "keys of the issuer: " + e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

// keyFetch gets the key set, and gives it again for keysFor.
type keyFetch struct {
	base http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	body []byte
	at   time.Time
}

// RoundTrip answers with the key set. Any other answer than that is an error.
func (k *keyFetch) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.body == nil || k.now().Sub(k.at) >= keysFor {
		body, err := k.fetch(r)
		if err != nil {
			return nil, &unreachableError{err}
		}
		k.body, k.at = body, k.now()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)),
	}, nil
}

func (k *keyFetch) fetch(r *http.Request) (body []byte, err error) {
	resp, err := k.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxKeys))
}
