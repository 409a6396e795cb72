// Package web is the backoffice in the browser: the list of reservations and one
// of them, the exports, the audit, and what Rowmill is. Its pages are made on the
// server, in Korean and English, and work by links and forms; one small module
// adds what is live. The address of a list holds its whole state, in the list's
// own dialect, so that it can be kept and handed on.
//
// The package stores nothing and finds nobody out: who calls is in the request's
// context, and each page asks for the permission that its API call needs.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/reservation"
)

// Reservations gives pages of the list.
type Reservations interface {
	List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error)
}

// Jobs is the job table as far as it is read here.
type Jobs interface {
	History(ctx context.Context, h export.History) ([]export.Job, error)
}

// Events is what the audit holds.
type Events interface {
	List(ctx context.Context, q audit.Query) ([]audit.Event, error)
}

// Takers tells which files a reservation went out in.
type Takers interface {
	Takers(ctx context.Context, q audit.TakersQuery) ([]audit.Taking, error)
}

// Config is what the pages need. Reservations and Jobs are required.
type Config struct {
	Reservations Reservations
	Jobs         Jobs
	Events       Events // nil, or Takers nil: there is no audit to read
	Takers       Takers
	Home         Home // nil: there is no home board
	// Record keeps that the audit was read and that a page was refused. What it
	// cannot keep does not happen. Default: nothing is kept.
	Record func(ctx context.Context, e audit.Event) error

	// Modules holds export-button.js. nil: the list has a plain button instead.
	Modules fs.FS

	Logger   *slog.Logger     // default: discards
	Now      func() time.Time // default: time.Now
	Location *time.Location   // of the times shown. Default UTC
	Language string           // "ko" or "en", for readers of neither. Default "en"

	// Development says on every page that anybody may sign in as anybody.
	Development bool
	// Secure keeps cookies to HTTPS.
	Secure bool
	// FormOrigins are origins beside this one to which a form may lead, as a sign-out
	// does that ends at the identity provider.
	FormOrigins []string
	// BaseURL stands in the examples of /about. Default "http://localhost:8080".
	BaseURL string
	// Retention is how long files are kept, for the page that says so. Default 7 days.
	Retention time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Record == nil {
		c.Record = func(context.Context, audit.Event) error { return nil }
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	c.Language = cmp.Or(c.Language, "en")
	c.BaseURL = cmp.Or(c.BaseURL, "http://localhost:8080")
	c.Retention = cmp.Or(c.Retention, 7*24*time.Hour)
	return c
}

// Validate names everything that is missing or out of bounds.
func (c Config) Validate() error {
	var errs []error
	if c.Reservations == nil {
		errs = append(errs, errors.New("Reservations is missing"))
	}
	if c.Jobs == nil {
		errs = append(errs, errors.New("Jobs is missing"))
	}
	if c.Language != "ko" && c.Language != "en" {
		errs = append(errs, errors.New(`Language is neither "ko" nor "en"`))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("web config: %w", err)
	}
	return nil
}

// pages is the handler.
type pages struct {
	cfg     Config
	mux     *http.ServeMux
	views   map[string]*template.Template
	assets  assets
	policy  string
	choices *choices
}

// New returns the pages, or an error that says what the Config lacks.
func New(cfg Config) (http.Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &pages{cfg: cfg, mux: http.NewServeMux(), policy: policy(cfg.FormOrigins), choices: newChoices(cfg)}
	var err error
	if p.assets, err = loadAssets(cfg.Modules); err != nil {
		return nil, err
	}
	if p.views, err = p.parse(); err != nil {
		return nil, err
	}
	p.routes()
	return p, nil
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Fail answers with a page that tells err, by which the page that r asks for is
// kept from its reader.
func (p *pages) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p.open(func(*http.Request, *frame) error { return err }).ServeHTTP(w, r)
}

func (p *pages) routes() {
	first := "/reservations"
	if p.cfg.Home != nil {
		first = "/home"
		p.mux.Handle("GET /home", p.page(p.home, access.ReadReservations))
	}
	p.mux.Handle("GET /{$}", http.RedirectHandler(first, http.StatusSeeOther))
	p.mux.Handle("GET /reservations", p.page(p.reservations, access.ReadReservations))
	p.mux.Handle("GET /reservations/{id}", p.page(p.reservation, access.ReadReservations))
	p.mux.Handle("GET /exports", p.page(p.exports, access.CreateExports, access.ReadAllExports))
	p.mux.Handle("GET /audit", p.page(p.audit, access.ReadAudit))
	p.mux.Handle("GET /about", p.open(p.about))
	p.mux.Handle("GET /assets/{name}", p.assets)
}
