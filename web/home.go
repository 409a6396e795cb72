package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"rowmill/home"
	"rowmill/internal/fault"
)

// Home is the home board.
type Home interface {
	Board(ctx context.Context, day time.Time) (home.Board, error)
}

// homePage is the board as it is to be seen now.
type homePage struct {
	Day      string // as it is written
	Date     string // as the form has it
	AsOf     time.Time
	Sections []homeSection
}

// homeSection is a section as it is shown.
type homeSection struct {
	Kind      string
	Title     string
	Shows     bool // products
	Ordered   bool // their order means something
	Available int64
	Products  []home.Product
}

func (p *pages) home(r *http.Request, f *frame) error {
	var day time.Time
	if asked := f.Query.Get("date"); asked != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, asked); err != nil {
			return fault.InvalidFields("The date is not valid.", fault.Field{Name: f.T("home.date"), Detail: fmt.Sprintf("%q is not a day like 2026-12-24", asked)})
		}
	}
	board, err := p.cfg.Home.Board(r.Context(), day)
	if err != nil {
		return err
	}
	page := &homePage{Day: f.Date(board.Day), Date: board.Day.Format(time.DateOnly), AsOf: board.AsOf}
	for _, s := range board.Sections {
		shown := homeSection{Kind: f.Or("home.kind.", string(s.Kind)), Title: s.Title, Shows: len(s.ProductIDs) > 0, Ordered: s.Kind == home.Ranking, Available: s.Available}
		for _, id := range s.ProductIDs {
			shown.Products = append(shown.Products, board.Products[id])
		}
		page.Sections = append(page.Sections, shown)
	}
	f.View, f.Title, f.Page = "home", f.T("home.title"), page
	return nil
}

// productList is a section's products with the words for them.
type productList struct {
	Frame    *frame
	Products []home.Product
}

// With pairs products with the words for them.
func (f *frame) With(products []home.Product) productList { return productList{f, products} }
