package gateway_test

import (
	"net/http"
	"testing"

	"rowmill/access"
	"rowmill/gateway"
)

// The pages find the caller in the context, and are asked too where there is
// none; only a call with credentials that are wrong is refused before.
func TestPagesAreAskedWithTheCaller(t *testing.T) {
	w := newWorld(t, func(_ *world, c *gateway.Config) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			caller, ok := access.From(r.Context())
			if !ok {
				caller.Subject = "nobody"
			}
			w.Header().Set("Content-Security-Policy", "of the page")
			_, _ = w.Write([]byte(caller.Subject + " at " + r.URL.RequestURI()))
		})
	})
	for _, c := range []struct{ target, authorization, want string }{
		{"/", "Bearer " + token, "developer at /"},
		{"/reservations?q=a", "Bearer " + token, "developer at /reservations?q=a"},
		{"/reservations/7", "", "nobody at /reservations/7"},
		{"/exports", "", "nobody at /exports"},
		{"/audit", "", "nobody at /audit"},
		{"/about", "", "nobody at /about"},
		{"/assets/style.0.css", "", "nobody at /assets/style.0.css"},
	} {
		rec := w.call("GET", c.target, "", "Authorization", c.authorization)
		if got := rec.Body.String(); rec.Code != 200 || got != c.want {
			t.Errorf("%s: %d %q", c.target, rec.Code, got)
		}
		if csp := rec.Header().Get("Content-Security-Policy"); csp != "of the page" {
			t.Errorf("%s: CSP %q", c.target, csp)
		}
	}
	wantProblem(t, w.call("GET", "/reservations", "", "Authorization", "Bearer wrong"), 401, "unauthorized")
	wantProblem(t, newWorld(t, nil).call("GET", "/reservations", ""), 404, "not-found")
}

// people is Pages that tell errors.
type people struct{ http.Handler }

func (people) Fail(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, "told: "+err.Error(), http.StatusTeapot)
}

// Who reads pages is told by a page why there is none; a program by a problem.
func TestWhatKeepsAPageFromPeopleIsToldByAPage(t *testing.T) {
	g := &fakeGrants{err: errBroken}
	w := newWorld(t, func(w *world, c *gateway.Config) {
		withGrants(g, &fakeAudit{})(w, c)
		c.Pages = people{http.NotFoundHandler()}
	})
	const html = "text/html,application/xhtml+xml"
	if rec := w.call("GET", "/exports", "", "Accept", html); rec.Code != http.StatusTeapot || rec.Header().Get("Retry-After") == "" {
		t.Errorf("a person is told %d: %s", rec.Code, rec.Body)
	}
	wantProblem(t, w.call("GET", "/exports", "", "Accept", "*/*"), 503, "unavailable")
	wantProblem(t, w.call("GET", exportsPath, "", "Accept", html), 503, "unavailable")
}
