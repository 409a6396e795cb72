package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/grants"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// Jobs is the job table.
type Jobs interface {
	// Insert stores a job. Where the requester has used the key before, or has an
	// equal request alive, it gives that job and created is false. A requester with
	// too many live jobs gets TooMany; where all together have too many it is Full,
	// with an export.FullError.
	Insert(ctx context.Context, job export.Job, idempotencyKey string) (stored export.Job, created bool, err error)
	Get(ctx context.Context, id string) (export.Job, error)
	History(ctx context.Context, h export.History) ([]export.Job, error)
	// Cancel ends a job that is alive; changed is false if it was final already.
	Cancel(ctx context.Context, id string, at time.Time) (job export.Job, changed bool, err error)
}

// Board is what is known of waiting and working.
type Board interface {
	// Ahead gives the queued jobs that come before job in its queue.
	Ahead(ctx context.Context, job export.Job) (int64, error)
	Workers(ctx context.Context, at time.Time) (export.Workers, error)
	// Measured gives what the last exports of the dataset and format have cost.
	Measured(ctx context.Context, dataset string, format sheet.Format) ([]export.Measured, error)
}

// Queue carries jobs to the workers.
type Queue interface {
	Enqueue(ctx context.Context, job export.Job) error
	// Cancel takes a canceled job out of the queue. A running attempt needs no word:
	// its next report is refused.
	Cancel(ctx context.Context, job export.Job) error
}

// Reservations is the internal reservation API.
type Reservations interface {
	List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error)
	Count(ctx context.Context, q reservation.Query) (int64, error)
}

// Files is where published files lie.
type Files interface {
	Open(ctx context.Context, key string) (export.Reader, error)
}

// AuditLog gives what was recorded.
type AuditLog interface {
	List(ctx context.Context, q audit.Query) ([]audit.Event, error)
	// All gives all events of the query, newest first, whatever its Before and Limit.
	All(ctx context.Context, q audit.Query) iter.Seq2[audit.Event, error]
}

// Takers tells which files a row went out in.
type Takers interface {
	Takers(ctx context.Context, q audit.TakersQuery) ([]audit.Taking, error)
}

// Config is what a gateway needs. The interfaces and Datasets are required; the
// rest has defaults.
type Config struct {
	Jobs         Jobs
	Board        Board
	Queue        Queue
	Reservations Reservations
	Files        Files
	Datasets     []export.Dataset
	Audit        audit.Recorder // nil: nothing is kept
	AuditLog     AuditLog       // nil, or Takers nil: the audit cannot be read
	Takers       Takers
	Home         Home         // nil: there is no home board
	Pages        http.Handler // of the backoffice; nil: there are none

	// TrustedProxies are the networks whose X-Forwarded-For says who calls. Default none.
	TrustedProxies []netip.Prefix

	Identity    Identity
	SignIn      http.Handler // serves /auth/; nil: nobody signs in
	Development bool         // callers choose their role by SignIn, and are told so

	// Grants and Live hold each caller's exports to what they may do now. Both or
	// neither.
	Grants grants.Store
	Live   grants.Jobs
	Limits Limits
	// Refused, if not nil, is told of each order that is past a bound: "user-jobs",
	// "max-rows", or the reason of an export.FullError. It must not block.
	Refused func(reason string)
	// LinkKey signs the links to files, the same for every gateway; at least 32
	// bytes. Default: a random one, under which links end with the process.
	LinkKey []byte

	// Checks are what /readyz asks, by the name of the dependency.
	Checks map[string]func(ctx context.Context) error

	Tracer   *telemetry.Tracer                                      // nil: calls are not recorded
	Answered func(operation string, status int, took time.Duration) // told of each call but event streams; nil: nobody counts

	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	// SmallRows is the most rows that an export of the small queue is expected to
	// have. Default 20,000.
	SmallRows int64
	// Retention is how long a file is kept, for the pages that say so. Default 7 days.
	Retention time.Duration
	// BaseURL is put before the paths of links, without a slash at its end.
	// Default "": links are paths.
	BaseURL string
	// AllowedOrigins are the origins of browsers' pages that may call. Default none.
	AllowedOrigins []string

	DefaultTimeZone string // IANA name. Default "UTC"
	DefaultLanguage string // "ko" or "en". Default "en"

	// PollInterval is how often an event stream looks at its job. Default 500 ms.
	PollInterval time.Duration
	// MaxStreams is the most event streams open at once. Default 200.
	MaxStreams int
}

const minLinkKey = 32 // bytes

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.SmallRows = cmp.Or(c.SmallRows, 20_000)
	c.Retention = cmp.Or(c.Retention, 7*24*time.Hour)
	c.DefaultTimeZone = cmp.Or(c.DefaultTimeZone, "UTC")
	c.DefaultLanguage = cmp.Or(c.DefaultLanguage, "en")
	c.PollInterval = cmp.Or(c.PollInterval, 500*time.Millisecond)
	c.MaxStreams = cmp.Or(c.MaxStreams, 200)
	c.Limits = c.Limits.withDefaults()
	if len(c.LinkKey) == 0 {
		c.LinkKey = make([]byte, minLinkKey)
		_, _ = rand.Read(c.LinkKey) // it never fails
	}
	return c
}

// Validate names everything that is missing or out of bounds.
func (c Config) Validate() error {
	var errs []error
	require := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	require(c.Jobs != nil, "Jobs is missing")
	require(c.Board != nil, "Board is missing")
	require(c.Queue != nil, "Queue is missing")
	require(c.Reservations != nil, "Reservations is missing")
	require(c.Files != nil, "Files is missing")
	require(len(c.Datasets) > 0, "Datasets is empty")
	require(c.Identity != nil, "Identity is missing")
	require(c.SmallRows >= 0, "SmallRows is negative")
	require(c.PollInterval > 0, "PollInterval is not positive")
	require(c.MaxStreams > 0, "MaxStreams is not positive")
	require(len(c.LinkKey) >= minLinkKey, "LinkKey is shorter than 32 bytes")
	require((c.Grants == nil) == (c.Live == nil), "Grants and Live go together")
	if err := c.Limits.validate(); err != nil {
		errs = append(errs, err)
	}
	require(c.DefaultLanguage == "ko" || c.DefaultLanguage == "en", `DefaultLanguage is neither "ko" nor "en"`)
	if _, err := location(c.DefaultTimeZone); err != nil {
		errs = append(errs, fmt.Errorf("DefaultTimeZone: %w", err))
	}
	if base, err := url.Parse(c.BaseURL); c.BaseURL != "" && (err != nil || base.Host == "" || strings.HasSuffix(c.BaseURL, "/")) {
		errs = append(errs, fmt.Errorf("BaseURL %q is not as https://host or https://host/path", c.BaseURL))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gateway config: %w", err)
	}
	return nil
}

// location loads an IANA zone. "" and "Local" are refused: they mean another
// zone on another machine.
func location(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is not an IANA time zone", name)
	}
	return time.LoadLocation(name)
}
