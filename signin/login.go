package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"rowmill/internal/fault"
)

// attempt is a sign-in under way, kept by the browser that began it.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE (RFC 7636)
	ReturnTo string `json:"return_to"`
	Expires  int64  `json:"exp"` // Unix seconds
}

// login sends the browser to the issuer.
func (s *SignIn) login(w http.ResponseWriter, r *http.Request) error {
	returnTo := localPath(r.URL.Query().Get("return_to"))
	if s.cfg.Development {
		redirect(w, "/auth/development?"+url.Values{"return_to": {returnTo}}.Encode())
		return nil
	}
	if s.issuer == nil {
		return fault.New(fault.NotFound, "Nobody signs in here: this server takes bearer tokens alone.")
	}
	f, err := s.issuer.discover(r.Context())
	if err != nil {
		return err
	}
	a := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		ReturnTo: returnTo, Expires: s.cfg.Now().Add(maxAttempt).Unix(),
	}
	name := attemptCookie + a.State[:stateInName]
	sealed, err := s.cookies.sealed(name, "attempt", a)
	if err != nil {
		return err
	}
	s.cookies.set(w, name, sealed, maxAttempt)
	redirect(w, f.config(s.issuer).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)))
	return nil
}

var errAttempt = fault.New(fault.Invalid, "This sign-in is not one that this browser has under way: it took too long, or was used already.")

// callback takes the browser back from the issuer.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) error {
	if s.issuer == nil {
		return fault.New(fault.NotFound, "Nobody signs in here.")
	}
	q := r.URL.Query()
	a, err := s.attempt(w, r, q.Get("state"))
	if err != nil {
		return err
	}
	// RFC 9207: the answer of another issuer must not be taken for this one's.
	if iss := q.Get("iss"); iss != "" && iss != s.cfg.Issuer {
		return errAttempt
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		s.cfg.Logger.WarnContext(r.Context(), "the issuer refused a sign-in", "code", q.Get("error"))
		return fault.New(fault.Forbidden, "The sign-in service did not let you in.")
	}
	token, err := s.exchange(r.Context(), q.Get("code"), a)
	if err != nil {
		return err
	}
	id, err := s.identify(token)
	if err != nil {
		return err
	}
	if err := s.start(w, r, id, token.Expiry); err != nil {
		return err
	}
	redirect(w, a.ReturnTo)
	return nil
}

// attempt gives the sign-in that the state is of, and takes it from the browser:
// it is good for one answer.
func (s *SignIn) attempt(w http.ResponseWriter, r *http.Request, state string) (attempt, error) {
	if len(state) <= stateInName {
		return attempt{}, errAttempt
	}
	name := attemptCookie + state[:stateInName]
	var a attempt
	if err := s.cookies.get(r, name, "attempt", &a); err != nil {
		return attempt{}, fault.Wrap(err, fault.Invalid, "%s", errAttempt.Message)
	}
	s.cookies.remove(w, name)
	if subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 || !s.cfg.Now().Before(time.Unix(a.Expires, 0)) {
		return attempt{}, errAttempt
	}
	return a, nil
}

// exchange gives the ID token for the code.
func (s *SignIn) exchange(ctx context.Context, code string, a attempt) (*oidc.IDToken, error) {
	f, err := s.issuer.discover(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := f.config(s.issuer).Exchange(oidc.ClientContext(ctx, s.cfg.HTTP), code, oauth2.VerifierOption(a.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return nil, fault.Wrap(err, fault.Unauthorized, "The sign-in service did not confirm who you are.")
	}
	if err != nil {
		return nil, unavailable(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return nil, unavailable(errors.New("the issuer gave no ID token"))
	}
	token, err := s.issuer.verify(ctx, raw, s.issuer.oauth.ClientID)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1 {
		return nil, fault.New(fault.Unauthorized, "The sign-in service answered another sign-in than this one.")
	}
	return token, nil
}

// logout ends the session in the browser. It ends even if that cannot be recorded.
func (s *SignIn) logout(w http.ResponseWriter, r *http.Request) error {
	if err := s.origins.Check(r); err != nil {
		return fault.Wrap(err, fault.Forbidden, "Another site asked to sign you out. Nothing was done.")
	}
	of, err := s.session(r)
	s.cookies.remove(w, sessionCookie)
	if err == nil && s.cfg.Events != nil {
		if err := s.cfg.Events.SignedOut(r.Context(), s.principal(of.identity)); err != nil {
			s.cfg.Logger.ErrorContext(r.Context(), "sign-out not recorded", "subject", of.Subject, "error", err)
		}
	}
	return s.show(w, http.StatusOK, page{Title: "Signed out", Message: "You are signed out of Rowmill.", Again: "/auth/login"})
}

func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}
