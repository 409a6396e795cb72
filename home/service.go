package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rowmill/internal/cache"
	"rowmill/internal/fault"
)

// Config is what a Service needs. Store is required; the rest has defaults.
type Config struct {
	Store  Store
	Editor Editor // nil: the board cannot be changed

	// Redis is where processes share the structure, a client as the cache asks for, which
	// the caller closes after the Service. Default nil: each process has a structure of its own, and does not
	// hear of another's changes.
	Redis cache.Client
	// FirstTTL and SecondTTL are how long a copy of the structure is fresh in the
	// process and in Redis. Default 5 s and 60 s.
	FirstTTL, SecondTTL time.Duration
	// Limit bounds a call of Board, and more than covers a Redis that does not answer.
	// Default 3 s.
	Limit time.Duration

	Location *time.Location    // whose day is today. Default UTC
	Observe  func(cache.Event) // told what happens in the cache; nil: nobody is
	Logger   *slog.Logger      // default: discards
	Now      func() time.Time  // default: time.Now
}

// Bounds of the cache's work: who waits for another process waits less than a call
// may take, and has a second to read the structure itself.
const (
	defaultLimit = 3 * time.Second
	lockFor      = 2 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Limit = cmp.Or(c.Limit, defaultLimit)
	return c
}

// Service gives the board and changes it. It is safe for concurrent use, and has to
// be closed.
type Service struct {
	cfg  Config
	kept *cache.Cache[string, structure]
}

// boardKey is the one key of the cache.
const boardKey = "board"

// New returns a service, or an error that says what its Config lacks.
func New(cfg Config) (*Service, error) {
	cfg = cfg.withDefaults()
	if cfg.Store == nil {
		return nil, errors.New("home config: Store is missing")
	}
	if cfg.Limit < 0 {
		return nil, errors.New("home config: Limit is negative")
	}
	s := &Service{cfg: cfg}
	c := cache.Config[string, structure]{
		Name: "home", Schema: schema, Size: 1,
		Load: func(ctx context.Context, _ string) (structure, bool, error) {
			b, err := read(ctx, cfg.Store)
			return b, err == nil, err
		},
		Keys: cache.Texts(), Values: cache.JSON[structure](),
		FirstTTL: cfg.FirstTTL, SecondTTL: cfg.SecondTTL, LoadLimit: cfg.Limit, LockFor: min(lockFor, cfg.Limit),
		Observe: cfg.Observe, Log: cfg.Logger, // its clock is of its own: a day that is set by hand must not age copies
	}
	c.Redis = cfg.Redis
	var err error
	if s.kept, err = cache.New(c); err != nil {
		return nil, fmt.Errorf("home config: %w", err)
	}
	return s, nil
}

// Close ends what goes on in the background and waits for it.
func (s *Service) Close() { s.kept.Close() }

// Today gives midnight UTC of the day that it is where the Config says.
func (s *Service) Today() time.Time {
	year, month, day := s.cfg.Now().In(s.cfg.Location).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// Board gives what is to be seen now, with the units that are free on the day, which
// is midnight UTC of a day; zero: Today. It takes one statement, and three more where
// no cache has the structure. What takes longer than Config.Limit is Unavailable.
func (s *Service) Board(ctx context.Context, day time.Time) (Board, error) {
	if day.IsZero() {
		day = s.Today()
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Limit)
	defer cancel()
	b, err := s.board(limited, day)
	switch {
	case err == nil:
		return b, nil
	case limited.Err() != nil && ctx.Err() == nil:
		return Board{}, fault.Wrap(err, fault.Unavailable, "The home board does not come in time. Please try again.")
	}
	return Board{}, err
}

func (s *Service) board(ctx context.Context, day time.Time) (Board, error) {
	kept, _, err := s.kept.Get(ctx, boardKey)
	if err != nil {
		return Board{}, fmt.Errorf("get the home board: %w", err)
	}
	return kept.board(ctx, s.cfg.Store, s.cfg.Now().UTC(), day)
}
