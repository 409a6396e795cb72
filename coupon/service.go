package coupon

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"rowmill/internal/fault"
)

// Versions say which state of the facts SQL holds, by kind. Any change of a fact gives
// its kind another version; "" is a kind of which nothing was ever stored.
type Versions struct{ Excluded, Left, Held string }

// Book is the rules that may apply and the versions of the facts, from one statement.
type Book struct {
	Rules []Rule
	Versions
}

// The facts as SQL holds them, each with the version that they have.
type (
	ExcludedFacts struct {
		Version  string
		Products []int64
	}
	LeftFacts struct {
		Version string
		Left    map[int64]int64 // of the rules that were asked for
	}
	HeldFacts struct {
		Version string
		Owner   string
		Held    map[int64][]int64 // by product or EveryProduct
	}
)

// Store is what the service needs of SQL; each call is one statement.
type Store interface {
	// Rules gives the rules whose window touches the time from after to before, at
	// most MaxRules+1 of them, with the versions of the facts, Held being the owner's.
	Rules(ctx context.Context, after, before time.Time, owner string) (Book, error)
	Excluded(ctx context.Context) (ExcludedFacts, error)
	Left(ctx context.Context, rules []int64) (LeftFacts, error)
	Held(ctx context.Context, owner string) (HeldFacts, error)
}

// Question is what of the copies is asked for: of the kinds that have a version.
type Question struct {
	Versions
	Owner    string
	Products []int64
	Limited  []int64 // rules that have a Stock
}

// Kinds names kinds of facts.
type Kinds struct{ Excluded, Left, Held bool }

// Fresh are facts that copies are to be made of; nil where there is no need.
type Fresh struct {
	Excluded *ExcludedFacts
	Left     *LeftFacts
	Held     *HeldFacts
}

// Copies are the facts where many can be asked at once.
type Copies interface {
	// Read answers from the copies that bear the asked versions, in one round trip,
	// and says of which kinds there is no such copy. If it cannot know it fails with
	// fault.Unavailable.
	Read(ctx context.Context, q Question) (Eligibility, Kinds, error)
	// Write puts copies in the place of those that there are, in one round trip.
	Write(ctx context.Context, f Fresh) error
}

// Config is what a service needs.
type Config struct {
	Store   Store
	Copies  Copies       // nil: there are no prices, each question is fault.Unavailable
	Logger  *slog.Logger // nil: nothing is logged
	Workers int          // goroutines of one question, at most; 0: one a processor
}

// Service answers what coupons make of prices. It is safe for concurrent use.
type Service struct {
	store   Store
	copies  Copies
	logger  *slog.Logger
	workers int
}

// NewService returns a service.
func NewService(c Config) *Service {
	return &Service{store: c.Store, copies: c.Copies, logger: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0))}
}

// WhyWithin is how far from its window a rule may be and still be told as refused. One
// that ended long ago is nobody's question, and they grow without bound.
const WhyWithin = 30 * 24 * time.Hour

// Prices gives what the rules make of each item for the user at the time, in the items'
// order. Rules whose window is more than 30 days away are not told as refused. It costs
// one SQL statement and at most one round trip to Redis; where a fact has changed, or
// its copy is gone, one statement more for each of the three kinds and one trip more.
func (s *Service) Prices(ctx context.Context, user string, at time.Time, items []Item) ([]Offer, error) {
	return s.offers(ctx, OwnerOf(user), at, at.Add(-WhyWithin), at.Add(WhyWithin), items)
}

// Now gives what the rules of the moment make of each item for everybody: rules that one
// must hold do not apply. Rules out of their window are not told.
func (s *Service) Now(ctx context.Context, at time.Time, items []Item) ([]Offer, error) {
	return s.offers(ctx, "", at, at, at, items)
}

func (s *Service) offers(ctx context.Context, owner string, at, after, before time.Time, items []Item) ([]Offer, error) {
	if s.copies == nil {
		return nil, fault.New(fault.Unavailable, "There are no coupon prices: this server has no Redis (--redis-url). Everything else works.")
	}
	if len(items) == 0 {
		return nil, nil
	}
	book, err := s.store.Rules(ctx, after, before, owner)
	if err != nil {
		return nil, err
	}
	if len(book.Rules) > MaxRules {
		return nil, fault.New(fault.Unavailable, "There are no coupon prices: more than %d coupon rules may apply at one time.", MaxRules)
	}
	e, err := s.eligibility(ctx, book, owner, items)
	if err != nil {
		return nil, err
	}
	return Offers(book.Rules, e, items, at, s.workers), nil
}

// eligibility asks the copies for what the rules hang on, and SQL for what they do not
// have.
func (s *Service) eligibility(ctx context.Context, b Book, owner string, items []Item) (Eligibility, error) {
	q := questionOf(b, owner, items)
	if q.Versions == (Versions{}) {
		return Eligibility{}, nil
	}
	e, missing, err := s.copies.Read(ctx, q)
	if err != nil || missing == (Kinds{}) {
		return e, err
	}
	fresh, err := s.load(ctx, missing, q, &e)
	if err != nil {
		return Eligibility{}, err
	}
	if err := s.copies.Write(ctx, fresh); err != nil { // the answer stands without them
		s.logger.WarnContext(ctx, "copies of the coupon facts were not written", slog.Any("error", err))
	}
	return e, nil
}

// questionOf leaves out the kinds that no rule hangs on.
func questionOf(b Book, owner string, items []Item) Question {
	q := Question{Owner: owner}
	held := false
	for _, r := range b.Rules {
		held = held || r.HeldOnly
		if r.Stock > 0 {
			q.Limited = append(q.Limited, r.ID)
		}
	}
	if len(b.Rules) > 0 {
		q.Versions.Excluded = b.Versions.Excluded
	}
	if len(q.Limited) > 0 {
		q.Versions.Left = b.Versions.Left
	}
	if held && owner != "" {
		q.Versions.Held = b.Versions.Held
	}
	q.Products = make([]int64, len(items))
	for i, item := range items {
		q.Products[i] = item.Product
	}
	slices.Sort(q.Products)
	q.Products = slices.Compact(q.Products)
	return q
}

// load reads the missing kinds from SQL into e.
func (s *Service) load(ctx context.Context, missing Kinds, q Question, e *Eligibility) (fresh Fresh, err error) {
	if missing.Excluded {
		facts, err := s.store.Excluded(ctx)
		if err != nil {
			return fresh, err
		}
		fresh.Excluded, e.Excluded = &facts, make(map[int64]bool, len(facts.Products))
		for _, id := range facts.Products {
			e.Excluded[id] = true
		}
	}
	if missing.Left {
		facts, err := s.store.Left(ctx, q.Limited)
		if err != nil {
			return fresh, err
		}
		fresh.Left, e.Left = &facts, facts.Left
	}
	if missing.Held {
		facts, err := s.store.Held(ctx, q.Owner)
		if err != nil {
			return fresh, err
		}
		fresh.Held, e.Held = &facts, facts.Held
	}
	return fresh, nil
}
