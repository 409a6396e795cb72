package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/audit"
	"rowmill/home"
	"rowmill/internal/fault"
)

const homePath = "/api/v1/home"

// Home is the home board. Its calls end in time by themselves.
type Home interface {
	// Board gives what is to be seen now, with what is free on the day; zero: today.
	Board(ctx context.Context, day time.Time) (home.Board, error)
	// Change stores a section as it is to be, unless approve fails.
	Change(ctx context.Context, c home.Change, approve func(ctx context.Context) error) (home.Section, error)
}

// HomeView is the home board as a caller reads it.
type HomeView struct {
	AsOf     time.Time         `json:"as_of" doc:"The moment of which it is decided what is visible"`
	Date     string            `json:"date" format:"date" doc:"The day that available_units are of"`
	Sections []HomeSectionView `json:"sections" nullable:"false" doc:"The visible sections, in their order"`
}

// HomeSectionView is a visible section.
type HomeSectionView struct {
	ID             int64     `json:"id"`
	Kind           home.Kind `json:"kind" enum:"banner,notice,carousel,grid,ranking"`
	Title          string    `json:"title"`
	Position       int       `json:"position"`
	ProductIDs     []int64   `json:"product_ids" nullable:"false" doc:"In their order; those that exist"`
	AvailableUnits int64     `json:"available_units" doc:"Of all its products on the day"`
}

func homeView(b home.Board) HomeView {
	v := HomeView{AsOf: b.AsOf, Date: b.Day.Format(time.DateOnly), Sections: make([]HomeSectionView, len(b.Sections))}
	for i, s := range b.Sections {
		v.Sections[i] = HomeSectionView{ID: s.ID, Kind: s.Kind, Title: s.Title, Position: s.Position, ProductIDs: listed(s.ProductIDs), AvailableUnits: s.Available}
	}
	return v
}

// listed gives the ids so that none are an empty list.
func listed(ids []int64) []int64 {
	if ids == nil {
		return []int64{}
	}
	return ids
}

type homeInput struct {
	Date string `query:"date" maxLength:"10" doc:"The day that available_units are of. Default: today in the service's time zone" example:"2026-12-24"`
}

type homeOutput struct {
	CacheControl string `header:"Cache-Control" hidden:"true"`
	Body         HomeView
}

func (s *Server) getHome(ctx context.Context, in *homeInput) (*homeOutput, error) {
	var day time.Time
	if in.Date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, in.Date); err != nil || day.Year() < 1 {
			return nil, fault.InvalidFields("The date is not valid.", fault.Field{Name: "date", Detail: fmt.Sprintf("%q is not a day like 2026-12-24", in.Date)})
		}
	}
	b, err := s.cfg.Home.Board(ctx, day)
	if err != nil {
		return nil, fmt.Errorf("get the home board: %w", err)
	}
	return &homeOutput{CacheControl: "no-store", Body: homeView(b)}, nil
}

// HomeChange is the body by which a section is changed.
type HomeChange struct {
	Title        string     `json:"title" minLength:"1" maxLength:"255"`
	Position     int        `json:"position" minimum:"0" maximum:"1000000" doc:"Sections stand in its order, those with the same in that of their ids"`
	VisibleFrom  *time.Time `json:"visible_from,omitempty" doc:"Default: always was"`
	VisibleUntil *time.Time `json:"visible_until,omitempty" doc:"Not included. Default: always will be"`
	ProductIDs   []int64    `json:"product_ids" nullable:"false" maxItems:"200" doc:"In their order, each once; none of a banner or a notice"`
}

// HomeSection is a section as it is stored, visible or not.
type HomeSection struct {
	ID           int64      `json:"id"`
	Kind         home.Kind  `json:"kind" enum:"banner,notice,carousel,grid,ranking"`
	Title        string     `json:"title"`
	Position     int        `json:"position"`
	VisibleFrom  *time.Time `json:"visible_from,omitempty"`
	VisibleUntil *time.Time `json:"visible_until,omitempty"`
	ProductIDs   []int64    `json:"product_ids" nullable:"false"`
}

type homeChangeInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body HomeChange
}

type homeChangeOutput struct{ Body HomeSection }

func (s *Server) putHomeSection(ctx context.Context, in *homeChangeInput) (*homeChangeOutput, error) {
	c := home.Change{ID: in.ID, Title: in.Body.Title, Position: in.Body.Position, ProductIDs: in.Body.ProductIDs}
	if in.Body.VisibleFrom != nil {
		c.From = *in.Body.VisibleFrom
	}
	if in.Body.VisibleUntil != nil {
		c.Until = *in.Body.VisibleUntil
	}
	section, err := s.cfg.Home.Change(ctx, c, func(ctx context.Context) error { return s.record(ctx, homeEvent(c)) })
	if err != nil {
		return nil, fmt.Errorf("change section %d: %w", in.ID, err)
	}
	s.log(ctx).InfoContext(ctx, "home section changed", "section_id", in.ID)
	return &homeChangeOutput{Body: HomeSection{
		ID: section.ID, Kind: section.Kind, Title: section.Title, Position: section.Position,
		VisibleFrom: orNone(section.From), VisibleUntil: orNone(section.Until), ProductIDs: listed(section.ProductIDs),
	}}, nil
}

func orNone(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// homeEvent is the event of a section that is about to become as c says. The title,
// which may be long, comes last: details are cut.
func homeEvent(c home.Change) audit.Event {
	detail := fmt.Sprintf("section %d, position %d", c.ID, c.Position)
	if !c.From.IsZero() {
		detail += ", from " + c.From.UTC().Format(time.RFC3339)
	}
	if !c.Until.IsZero() {
		detail += ", until " + c.Until.UTC().Format(time.RFC3339)
	}
	ids := make([]string, len(c.ProductIDs))
	for i, id := range c.ProductIDs {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return audit.Event{Action: audit.HomeChange, Detail: fmt.Sprintf("%s, %d products, %q: %s", detail, len(ids), c.Title, strings.Join(ids, " "))}
}

func (s *Server) homeRoutes() {
	if s.cfg.Home == nil {
		return
	}
	register(s, huma.Operation{
		OperationID: "get-home", Method: http.MethodGet, Path: homePath, Tags: []string{"Home"},
		Summary: "The home board", RejectUnknownQueryParameters: true,
		Description: "The sections that are visible now, and how many units of their products are free on a day. It is the board that guests see, so it is the same whatever properties are the caller's.",
	}, s.getHome, 400, 401, 403, 500, 503)
	register(s, huma.Operation{
		OperationID: "put-home-section", Method: http.MethodPut, Path: homePath + "/sections/{id}", Tags: []string{"Home"},
		MaxBodyBytes: 64 << 10, Summary: "Change a section", RejectUnknownQueryParameters: true,
		Description: "Takes the whole section but its kind, which stays; what is left out of the window of visibility is no bound. It is recorded in the audit before it is stored. Every gateway answers the new state at once, " +
			"or, if Redis does not answer, when its copy has ended.",
	}, s.putHomeSection, 400, 401, 403, 404, 408, 413, 415, 500, 503)
}
