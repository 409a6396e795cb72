// Package home is the home board: sections in their order, some of which show
// products, and how many units of these are free on a day. The board is the same
// for whoever reads it, as it is what guests see.
//
// What the board is made of, its structure, changes seldom and is cached, whole and
// under one key, with the sections that are not visible yet: a section comes and
// goes at its moment, however old the copy is. How many units are free is asked for
// each answer, in one question for all products.
//
// A Change is stored, then every process is told of it. Redis is help and no need:
// without it the structure comes from the Store, and a process that could not be told
// of a change may show the state before it for as long as its copy lasts.
package home

import (
	"context"
	"slices"
	"time"
)

// Kind says what a section is.
type Kind string

// Kinds of sections; carousels, grids and rankings show products.
const (
	Banner   Kind = "banner"
	Notice   Kind = "notice"
	Carousel Kind = "carousel"
	Grid     Kind = "grid"
	Ranking  Kind = "ranking"
)

// Kinds gives all kinds.
func Kinds() []Kind { return []Kind{Banner, Notice, Carousel, Grid, Ranking} }

// ShowsProducts reports whether sections of the kind may show products.
func (k Kind) ShowsProducts() bool { return slices.Contains([]Kind{Carousel, Grid, Ranking}, k) }

// Section is a part of the board.
type Section struct {
	ID       int64  `json:"id"`
	Kind     Kind   `json:"kind"`
	Title    string `json:"title"`
	Position int    `json:"position"` // sections stand in its order, those with the same in that of their ids
	// The section is visible from From until before Until; zero: without that bound.
	From       time.Time `json:"from,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	ProductIDs []int64   `json:"product_ids,omitempty"` // in their order, each once
}

// visible reports whether the section is to be seen at the moment.
func (s Section) visible(at time.Time) bool {
	return !at.Before(s.From) && (s.Until.IsZero() || at.Before(s.Until))
}

// Board is what is to be seen at a moment. Its maps and lists are shared by all who
// read it and must not be changed.
type Board struct {
	AsOf     time.Time
	Day      time.Time // midnight UTC of the day that Available is of
	Sections []Shown   // the visible ones, in their order
	Products map[int64]Product
}

// Shown is a section with the products that exist, and how many of their units are
// free on the board's day.
type Shown struct {
	Section
	Available int64
}

// Product is what a section shows of a product.
type Product struct {
	Name      string
	Available int64 // units that are free on the board's day
}

// Store is where the board is kept. Each call is one statement, however much it
// gives; of ids it takes at most batch.Limit, and none gives nothing.
type Store interface {
	// Sections gives all sections in their order, without their products.
	Sections(ctx context.Context) ([]Section, error)
	// Items gives the sections' products in their order; sections without any are absent.
	Items(ctx context.Context, sections []int64) (map[int64][]int64, error)
	// Products gives the names of those products that exist.
	Products(ctx context.Context, ids []int64) (map[int64]string, error)
	// Available gives how many units of the products are free on the day; products
	// of which nothing is known are absent.
	Available(ctx context.Context, day time.Time, products []int64) (map[int64]int64, error)
}
