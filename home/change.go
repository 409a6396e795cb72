package home

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"rowmill/internal/fault"
)

// Editor is where the board is changed.
type Editor interface {
	// Section gives a section with its products; an unknown one is NotFound.
	Section(ctx context.Context, id int64) (Section, error)
	// Put stores all of the section but its kind, which stays; an unknown one is NotFound.
	Put(ctx context.Context, s Section) error
}

// Bounds of a section.
const (
	MaxTitle    = 255 // characters
	MaxPosition = 1_000_000
	MaxProducts = 200

	firstYear, lastYear = 1970, 9999 // which both engines keep, and sort as text
)

// Change is a section as it is to be: all but its kind.
type Change struct {
	ID          int64
	Title       string
	Position    int
	From, Until time.Time // to the microsecond; zero: without that bound
	ProductIDs  []int64   // in their order; none for kinds that show none
}

// Check names everything that is wrong with the change in itself, as Invalid.
func (c Change) Check() error {
	var wrong []fault.Field
	bad := func(name, format string, args ...any) {
		wrong = append(wrong, fault.Field{Name: name, Detail: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(c.Title); strings.TrimSpace(c.Title) == "" || n > MaxTitle || !utf8.ValidString(c.Title) {
		bad("title", "has %d characters of text; 1 to %d are needed", n, MaxTitle)
	}
	if c.Position < 0 || c.Position > MaxPosition {
		bad("position", "%d is not between 0 and %d", c.Position, MaxPosition)
	}
	if !c.From.IsZero() && !c.Until.IsZero() && !c.From.Before(c.Until) {
		bad("visible_until", "is not after visible_from")
	}
	for name, t := range map[string]time.Time{"visible_from": c.From, "visible_until": c.Until} {
		if year := t.UTC().Year(); !t.IsZero() && (year < firstYear || year > lastYear) {
			bad(name, "is not in the years %d to %d", firstYear, lastYear)
		}
	}
	if len(c.ProductIDs) > MaxProducts {
		bad("product_ids", "%d products; at most %d can be shown", len(c.ProductIDs), MaxProducts)
	}
	seen := make(map[int64]bool, len(c.ProductIDs))
	for _, id := range c.ProductIDs {
		if seen[id] {
			bad("product_ids", "product %d is there twice", id)
			break
		}
		seen[id] = true
	}
	return invalid(wrong)
}

func invalid(wrong []fault.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields("The section is not valid.", wrong...)
}

// Change stores a section as it is to be, and tells every process, which then
// answers the new state. approve is called before anything is stored, once it is
// known that the change can be made; its error prevents it. A change that is wrong is
// Invalid, one of an unknown section NotFound. Of two changes at once the later wins.
func (s *Service) Change(ctx context.Context, c Change, approve func(ctx context.Context) error) (Section, error) {
	if s.cfg.Editor == nil {
		return Section{}, fault.New(fault.NotFound, "The home board cannot be changed here.")
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Limit)
	defer cancel()
	section, err := s.change(limited, c, approve)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return Section{}, fault.Wrap(err, fault.Unavailable, "The home board could not be changed in time. Please look at it and try again.")
	}
	return section, err
}

func (s *Service) change(ctx context.Context, c Change, approve func(ctx context.Context) error) (Section, error) {
	if err := c.Check(); err != nil {
		return Section{}, err
	}
	section, err := s.cfg.Editor.Section(ctx, c.ID)
	if err != nil {
		return Section{}, fmt.Errorf("read section %d: %w", c.ID, err)
	}
	if err := s.shows(ctx, section.Kind, c.ProductIDs); err != nil {
		return Section{}, err
	}
	if err := approve(ctx); err != nil {
		return Section{}, err
	}
	section.Title, section.Position, section.ProductIDs = c.Title, c.Position, c.ProductIDs
	section.From, section.Until = stored(c.From), stored(c.Until)
	err = s.cfg.Editor.Put(ctx, section)
	// Also of one whose outcome is not known: it may have been stored.
	if told := s.kept.Invalidate(ctx, boardKey); told != nil {
		s.cfg.Logger.WarnContext(ctx, "A change of the home board could not be told to the other processes.", "section_id", c.ID, "error", told)
	}
	if err != nil {
		return Section{}, fmt.Errorf("store section %d: %w", c.ID, err)
	}
	return section, nil
}

// stored gives the moment as it is kept: in UTC and to the microsecond.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// shows refuses products that do not exist, or that the kind does not show.
func (s *Service) shows(ctx context.Context, kind Kind, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if !kind.ShowsProducts() {
		return invalid([]fault.Field{{Name: "product_ids", Detail: fmt.Sprintf("a %s shows no products", kind)}})
	}
	names, err := batched(ctx, ids, s.cfg.Store.Products)
	if err != nil {
		return fmt.Errorf("look for the section's products: %w", err)
	}
	var wrong []fault.Field
	for i, id := range ids {
		if _, ok := names[id]; !ok {
			wrong = append(wrong, fault.Field{Name: fmt.Sprintf("product_ids[%d]", i), Detail: fmt.Sprintf("there is no product %d", id)})
		}
	}
	return invalid(wrong)
}
