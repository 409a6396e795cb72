package signin

import (
	"errors"
	"net/http"
	"time"

	"rowmill/internal/fault"
)

const (
	sessionCookie = "rowmill_session"
	// attemptCookie starts the name of a sign-in's cookie; its state's beginning
	// follows, so that two tabs can sign in at once.
	attemptCookie = "rowmill_signin_"
	stateInName   = 8

	maxSession = 8 * time.Hour
	maxAttempt = 10 * time.Minute
	maxCookie  = 4000 // bytes of name and value; browsers drop a cookie past 4,096 silently
)

// session is who signed in, where, and until when.
type session struct {
	identity
	Issuer  string `json:"iss"`
	Expires int64  `json:"exp"` // Unix seconds
}

// developmentIssuer is that of a session whose role was chosen. No issuer's
// address is like it, so no other mode takes such a session.
const developmentIssuer = "development"

func (s *SignIn) issuerName() string {
	if s.cfg.Development {
		return developmentIssuer
	}
	return s.cfg.Issuer
}

var errNoSession = errors.New("no session")

// session gives the caller's, if it holds.
func (s *SignIn) session(r *http.Request) (session, error) {
	var of session
	if err := s.cookies.get(r, sessionCookie, "session", &of); err != nil {
		return session{}, err
	}
	if of.Issuer != s.issuerName() || of.Subject == "" || !s.cfg.Now().Before(time.Unix(of.Expires, 0)) {
		return session{}, errNoSession
	}
	return of, nil
}

// start gives the browser a session until the token expires, at most for maxSession.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request, id identity, expiry time.Time) error {
	now := s.cfg.Now()
	if limit := now.Add(maxSession); expiry.After(limit) {
		expiry = limit
	}
	of := session{identity: id, Issuer: s.issuerName(), Expires: expiry.Unix()}
	sealed, err := s.cookies.sealed(sessionCookie, "session", of)
	if err != nil {
		return err
	}
	if s.cfg.Events != nil {
		if err := s.cfg.Events.SignedIn(r.Context(), s.principal(id)); err != nil {
			return fault.Wrap(err, fault.Unavailable, "The sign-in could not be recorded. Try again soon.")
		}
	}
	s.cookies.set(w, sessionCookie, sealed, expiry.Sub(now))
	s.cfg.Logger.InfoContext(r.Context(), "signed in", "subject", id.Subject)
	return nil
}

// cookies writes and reads sealed cookies.
type cookies struct {
	sealer sealer
	secure bool
}

// name gives a cookie's name. Behind https the prefix makes the browser refuse one
// that another host of the domain, or a page by http, has set.
func (c cookies) name(of string) string {
	if c.secure {
		return "__Host-" + of
	}
	return of
}

func (c cookies) get(r *http.Request, name, purpose string, v any) error {
	cookie, err := r.Cookie(c.name(name))
	if err != nil {
		return errNoSession
	}
	return c.sealer.open(purpose, cookie.Value, v)
}

// sealed gives v as a cookie's value, or an error if a browser would not keep it.
func (c cookies) sealed(name, purpose string, v any) (string, error) {
	value, err := c.sealer.seal(purpose, v)
	if err != nil {
		return "", err
	}
	if len(c.name(name))+len(value) > maxCookie {
		return "", fault.New(fault.Forbidden, "What your account may see is too long a list for a session in a browser. Ask for a wider role or fewer properties.")
	}
	return value, nil
}

func (c cookies) set(w http.ResponseWriter, name, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // by http, as on a machine for development, a Secure cookie would not come back
		Name: c.name(name), Value: value, Path: "/", MaxAge: max(1, int(lasts/time.Second)),
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (c cookies) remove(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // as above
		Name: c.name(name), Path: "/", MaxAge: -1, Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
