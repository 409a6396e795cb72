package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/gateway"
	"rowmill/signin"
)

// openSignIn makes what knows the gateway's callers. Its events wait for the
// gateway, which keeps them.
func (a *app) openSignIn(ctx context.Context) (*signin.SignIn, *signInEvents, error) {
	token, err := a.publicToken(ctx)
	if err != nil {
		return nil, nil, err
	}
	policy, err := readPolicy(a.cfg.Policy)
	if err != nil {
		return nil, nil, err
	}
	keys := a.cfg.SessionKeys
	if len(keys) == 0 {
		keys = []string{rand.Text() + rand.Text()}
	}
	events := &signInEvents{}
	callers, err := signin.New(ctx, signin.Config{
		Issuer: a.cfg.Issuer, ClientID: a.cfg.ClientID, ClientSecret: a.cfg.ClientSecret, RedirectURL: a.cfg.BaseURL + "/auth/callback",
		Audience: a.cfg.Audience, RolesClaim: a.cfg.RolesClaim, PropertiesClaim: a.cfg.PropertiesClaim, Policy: policy,
		CookieKeys: keys, Secure: strings.HasPrefix(a.cfg.BaseURL, "https://"), StaticToken: token,
		Development: a.cfg.DevelopmentSignIn(), Logger: a.log, Events: events,
	})
	if err != nil {
		return nil, nil, err
	}
	return callers, events, nil
}

// readPolicy reads the policy's file; without one the built-in roles hold.
func readPolicy(path string) (policy access.Policy, err error) {
	if path == "" {
		return access.DefaultPolicy(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the policy: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if policy, err = access.ReadPolicy(f); err != nil {
		return nil, fmt.Errorf("policy %s: %w", path, err)
	}
	return policy, nil
}

// signInEvents keeps sign-ins and sign-outs in the gateway's audit.
type signInEvents struct{ gateway *gateway.Server }

func (e *signInEvents) SignedIn(ctx context.Context, p access.Principal) error {
	return e.gateway.Record(ctx, p, audit.SignIn)
}

func (e *signInEvents) SignedOut(ctx context.Context, p access.Principal) error {
	return e.gateway.Record(ctx, p, audit.SignOut)
}
