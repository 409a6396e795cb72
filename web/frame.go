package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/internal/fault"
)

//go:embed page/*.html
var pageFiles embed.FS

// frame is what every page has round its own part.
type frame struct {
	speech
	View        string // the template
	Title       string
	Caller      access.Principal
	SignedIn    bool
	Development bool
	Button      bool // there is an export-button
	Home        bool // there is a home board
	Status      int  // HTTP status; 0: 200
	Query       url.Values
	Here        string // path and query of this page
	Page        any    // the page's own part
}

// May reports whether the caller has the permission, by its name.
func (f *frame) May(permission string) bool { return f.Caller.May(access.Permission(permission)) }

// Name is what the caller is called.
func (f *frame) Name() string {
	if f.Caller.Name != "" {
		return f.Caller.Name
	}
	return f.Caller.Subject
}

// InLanguage gives the address of this page in the language.
func (f *frame) InLanguage(language string) string {
	here, err := url.Parse(f.Here)
	if err != nil {
		return "/?lang=" + language
	}
	query := here.Query()
	query.Set("lang", language)
	return here.Path + "?" + query.Encode()
}

// In reports whether this page is the one at path, or under it.
func (f *frame) In(path string) bool {
	here, _, _ := strings.Cut(f.Here, "?")
	return here == path || strings.HasPrefix(here, path+"/")
}

// told is a problem with the words for it.
type told struct {
	Frame   *frame
	Problem *problem
}

// Told pairs a problem with the words for it.
func (f *frame) Told(p *problem) told { return told{f, p} }

// parse reads the templates: each page with the layout and the shared parts.
func (p *pages) parse() (map[string]*template.Template, error) {
	views := map[string]*template.Template{}
	for _, name := range []string{"reservations", "reservation", "exports", "audit", "about", "home", "problem"} {
		t, err := template.New("layout.html").Funcs(template.FuncMap{"asset": p.assets.path}).
			ParseFS(pageFiles, "page/layout.html", "page/filter.html", "page/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("web page %s: %w", name, err)
		}
		views[name] = t
	}
	return views, nil
}

// handler fills a frame; an error becomes a page that says so.
type handler func(r *http.Request, f *frame) error

// page serves a handler to callers who have one of the permissions.
func (p *pages) page(h handler, oneOf ...access.Permission) http.Handler {
	return p.open(func(r *http.Request, f *frame) error {
		// What cannot be read is left out of Query: a list without its filter would be another.
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			return fault.Wrap(err, fault.Invalid, "The address cannot be read: check its percent signs and semicolons.")
		}
		if !f.SignedIn {
			return redirect{"/auth/login?" + url.Values{"return_to": {r.URL.RequestURI()}}.Encode()}
		}
		if !slices.ContainsFunc(oneOf, f.Caller.May) {
			return p.deny(r.Context(), oneOf[0])
		}
		return h(r, f)
	})
}

// denied is a refusal for want of a permission.
type denied struct{ permission access.Permission }

func (d denied) Error() string { return "permission " + string(d.permission) + " is missing" }

func (p *pages) deny(ctx context.Context, permission access.Permission) error {
	if err := p.cfg.Record(ctx, audit.Event{Action: audit.Deny, Detail: string(permission)}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "The audit cannot be written, so nothing is shown. Try again.")
	}
	return denied{permission}
}

// open serves a handler to everybody.
func (p *pages) open(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.secure(w)
		if p.switchLanguage(w, r) {
			return
		}
		f := &frame{speech: p.speechFor(r), Development: p.cfg.Development, Button: p.assets.has(buttonModule), Home: p.cfg.Home != nil, Query: r.URL.Query(), Here: r.URL.RequestURI()}
		f.Caller, f.SignedIn = access.From(r.Context())
		err := h(r, f)
		if elsewhere, ok := errors.AsType[redirect](err); ok {
			http.Redirect(w, r, elsewhere.to, http.StatusSeeOther)
			return
		}
		if err != nil {
			p.fail(r.Context(), f, err)
		}
		p.write(w, r, f)
	})
}

// redirect is the "error" of a handler that answers with another address of ours.
type redirect struct{ to string }

func (r redirect) Error() string { return "see " + r.to }

// write renders first and answers then, so that no half page goes out.
func (p *pages) write(w http.ResponseWriter, r *http.Request, f *frame) {
	var b bytes.Buffer
	if err := p.views[f.View].Execute(&b, f); err != nil {
		p.cfg.Logger.ErrorContext(r.Context(), "page not rendered", "view", f.View, "error", err)
		http.Error(w, f.T("problem.internal"), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	_, _ = w.Write(b.Bytes()) // a reader who has gone does not care
}

func (p *pages) secure(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Language, Cookie")
}

// policy lets a page run its own module and style and nothing else.
func policy(formOrigins []string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action " +
		strings.Join(append([]string{"'self'"}, formOrigins...), " ") + "; base-uri 'none'; frame-ancestors 'none'"
}
