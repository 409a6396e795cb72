// Package signin finds out who calls: a browser by its session cookie, which it
// gets by signing in at an OpenID Connect issuer, or a program by a bearer token.
// It keeps no sessions: the cookie is the session, sealed. What a caller may do is
// said by the roles in its claims and by the policy.
package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// Subject is the caller that the static token stands for. No claim may name it.
const Subject = "developer"

// Events are told of sign-ins and sign-outs. A sign-in that they refuse fails.
type Events interface {
	SignedIn(ctx context.Context, p access.Principal) error
	SignedOut(ctx context.Context, p access.Principal) error
}

// Config is what a SignIn needs. Without an Issuer there are no bearer JWTs, and
// only the sign-in of development.
type Config struct {
	Issuer       string // as in the tokens' iss; it is asked for its metadata when it is first needed
	ClientID     string // required with an Issuer
	ClientSecret string // "": a public client, by PKCE alone
	RedirectURL  string // of /auth/callback as the browser sees it; required with an Issuer
	Audience     string // that bearer JWTs must name; "": none are taken

	// RolesClaim is where the roles are in the claims: a name or a path like
	// "realm_access.roles". Default "roles".
	RolesClaim string
	// PropertiesClaim is where the ids of the caller's properties are. "": callers
	// see all. Where it is set and a token lacks it, they see none.
	PropertiesClaim string
	Policy          access.Policy // default access.DefaultPolicy()

	// CookieKeys are secrets of at least 32 bytes. The first seals, all open.
	CookieKeys  []string
	Secure      bool   // browsers come by https
	StaticToken string // bearer token of Subject with all permissions; "": none
	Development bool   // callers on this machine choose their role

	HTTP   *http.Client     // to the issuer. Default: one with a limit of 10 s
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
	Events Events           // nil: nobody is told
}

func (c Config) withDefaults() Config {
	c.RolesClaim = cmp.Or(c.RolesClaim, "roles")
	if c.Policy == nil {
		c.Policy = access.DefaultPolicy()
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate names everything that is missing or goes not together.
func (c Config) Validate() error {
	var errs []error
	require := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	sessions := c.Issuer != "" || c.Development
	require(c.Issuer == "" || c.ClientID != "", "ClientID is missing")
	require(c.Issuer == "" || c.RedirectURL != "", "RedirectURL is missing")
	require(!sessions || len(c.CookieKeys) > 0, "CookieKeys are missing")
	require(c.Issuer == "" || !c.Development, "Development goes with no Issuer")
	require(sessions || c.StaticToken != "", "there is no way to sign in: neither Issuer nor StaticToken nor Development is set")
	for _, key := range c.CookieKeys {
		require(len(key) >= minKey, fmt.Sprintf("CookieKeys have one of fewer than %d bytes", minKey))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sign-in config: %w", err)
	}
	return nil
}

// SignIn knows callers and signs them in and out. It is safe for concurrent use.
type SignIn struct {
	cfg     Config
	static  httpedge.Token
	issuer  *issuer // nil: there is none
	cookies cookies
	origins *http.CrossOriginProtection
	mux     *http.ServeMux
}

// New returns a SignIn, or an error that says what its Config lacks. The issuer
// need not be up.
func New(ctx context.Context, cfg Config) (*SignIn, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	sealer, err := newSealer(cfg.CookieKeys)
	if err != nil {
		return nil, err
	}
	s := &SignIn{
		cfg: cfg, static: httpedge.NewToken(cfg.StaticToken), mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(),
		cookies: cookies{sealer: sealer, secure: cfg.Secure},
	}
	s.cfg.StaticToken, s.cfg.CookieKeys = "", nil // a printed SignIn shows no secret
	if cfg.Issuer != "" {
		s.issuer = newIssuer(ctx, cfg)
		s.cfg.ClientSecret = ""
	}
	s.mux.HandleFunc("GET /auth/login", s.answer(s.login))
	s.mux.HandleFunc("GET /auth/callback", s.answer(s.callback))
	s.mux.HandleFunc("POST /auth/logout", s.answer(s.logout))
	s.mux.HandleFunc("GET /auth/development", s.answer(s.chooseRole))
	s.mux.HandleFunc("POST /auth/development", s.answer(s.takeRole))
	return s, nil
}

// ServeHTTP answers /auth/login, /auth/callback, /auth/logout and
// /auth/development, with pages for people.
func (s *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Authenticate gives the caller and how it was known. The error is Unauthorized
// if nothing was shown or what was shown does not hold (Method says which), and
// Unavailable if the issuer is needed to tell and does not answer. A bearer token
// goes before a cookie.
func (s *SignIn) Authenticate(r *http.Request) (access.Principal, httpedge.Method, error) {
	if token := httpedge.Bearer(r.Header.Get("Authorization")); token != "" {
		p, err := s.bearer(r.Context(), token)
		return p, httpedge.ByBearer, err
	}
	session, err := s.session(r)
	if err != nil {
		return access.Principal{}, httpedge.ByNothing, fault.Wrap(err, fault.Unauthorized, "Sign in, or send your token in the Authorization header, as: Bearer <token>.")
	}
	return s.principal(session.identity), httpedge.ByCookie, nil
}

func (s *SignIn) bearer(ctx context.Context, token string) (access.Principal, error) {
	if s.static.Is(token) {
		return access.Principal{Subject: Subject, Name: Subject, Permissions: access.Permissions()}, nil
	}
	// What is no JWT need not bother the issuer.
	if s.issuer == nil || s.cfg.Audience == "" || strings.Count(token, ".") != 2 {
		return access.Principal{}, fault.New(fault.Unauthorized, "The token is not valid.")
	}
	verified, err := s.issuer.verify(ctx, token, s.cfg.Audience)
	if err != nil {
		return access.Principal{}, err
	}
	id, err := s.identify(verified)
	if err != nil {
		return access.Principal{}, err
	}
	return s.principal(id), nil
}
