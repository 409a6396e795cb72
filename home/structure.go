package home

import (
	"context"
	"fmt"
	"time"

	"rowmill/internal/batch"
)

// structure is the board but for what is free. Its form in Redis has the number
// schema, which is raised when the form changes.
type structure struct {
	Sections []Section        `json:"sections"`
	Names    map[int64]string `json:"names"` // of the products that exist
}

const schema = 1

// read reads the structure, in three statements. A change that is made meanwhile may
// be in it by half; it is then kept in no cache.
func read(ctx context.Context, s Store) (structure, error) {
	sections, err := s.Sections(ctx)
	if err != nil {
		return structure{}, fmt.Errorf("read the home board's sections: %w", err)
	}
	ids := make([]int64, len(sections))
	for i := range sections {
		ids[i] = sections[i].ID
	}
	shown, err := batched(ctx, ids, s.Items)
	if err != nil {
		return structure{}, fmt.Errorf("read the home board's items: %w", err)
	}
	var products []int64
	for _, ids := range shown {
		products = append(products, ids...)
	}
	names, err := batched(ctx, products, s.Products)
	if err != nil {
		return structure{}, fmt.Errorf("read the home board's products: %w", err)
	}
	for i := range sections {
		sections[i].ProductIDs = existing(shown[sections[i].ID], names)
	}
	return structure{Sections: sections, Names: names}, nil
}

// Read gives the board of a moment from the store alone, in four statements: what a
// Service does whose caches have nothing.
func Read(ctx context.Context, s Store, moment, day time.Time) (Board, error) {
	kept, err := read(ctx, s)
	if err != nil {
		return Board{}, err
	}
	return kept.board(ctx, s, moment, day)
}

// board gives the board as it is to be seen at the moment, with what is free on the day.
func (s structure) board(ctx context.Context, from Store, moment, day time.Time) (Board, error) {
	b, products := s.at(moment, day)
	available, err := batched(ctx, products, func(ctx context.Context, ids []int64) (map[int64]int64, error) {
		return from.Available(ctx, day, ids)
	})
	if err != nil {
		return Board{}, fmt.Errorf("read what is free: %w", err)
	}
	b.fill(available)
	return b, nil
}

// batched reads the keys, which may repeat, each once.
func batched[V any](ctx context.Context, keys []int64, read batch.Func[int64, V]) (map[int64]V, error) {
	loader := batch.New(ctx, read, 0)
	defer loader.Close()
	return loader.LoadMany(ctx, keys)
}

// existing keeps the ids that have a name: a product that is no more is not shown.
func existing(ids []int64, names map[int64]string) (kept []int64) {
	for _, id := range ids {
		if _, ok := names[id]; ok {
			kept = append(kept, id)
		}
	}
	return kept
}

// at gives the board as it is to be seen at the moment, nothing being free yet.
func (s structure) at(moment, day time.Time) (b Board, products []int64) {
	b = Board{AsOf: moment, Day: day, Products: map[int64]Product{}}
	for _, section := range s.Sections {
		if !section.visible(moment) {
			continue
		}
		b.Sections = append(b.Sections, Shown{Section: section})
		products = append(products, section.ProductIDs...)
	}
	for _, id := range products {
		b.Products[id] = Product{Name: s.Names[id]}
	}
	return b, products
}

// fill says of each product and section how many units are free.
func (b *Board) fill(available map[int64]int64) {
	for id, p := range b.Products {
		p.Available = available[id]
		b.Products[id] = p
	}
	for i := range b.Sections {
		for _, id := range b.Sections[i].ProductIDs {
			b.Sections[i].Available += available[id]
		}
	}
}
