package bench

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"rowmill/home"
	"rowmill/internal/batch"
)

// boards is what each rung answers with: home.Service does, and what follows.
type boards interface {
	Board(ctx context.Context, day time.Time) (home.Board, error)
}

// boardFunc makes boards of a function.
type boardFunc func(ctx context.Context, day time.Time) (home.Board, error)

// Board implements boards.
func (f boardFunc) Board(ctx context.Context, day time.Time) (home.Board, error) { return f(ctx, day) }

// perSection asks for each section what it shows, and reads all there is of that:
// the story's beginning. Nobody but the bench has it.
type perSection struct {
	tables homeTables
	moment time.Time
	atOnce int // sections
}

// Board implements boards.
func (p perSection) Board(ctx context.Context, day time.Time) (home.Board, error) {
	sections, err := p.tables.visible(ctx, p.moment)
	if err != nil {
		return home.Board{}, err
	}
	parts := make([]home.Board, len(sections))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(p.atOnce)
	for i, s := range sections {
		group.Go(func() (err error) {
			parts[i], err = p.section(within, s, day)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return home.Board{}, err
	}
	b := home.Board{AsOf: p.moment, Day: day, Products: map[int64]home.Product{}}
	for _, part := range parts {
		b.Sections = append(b.Sections, part.Sections...)
		maps.Copy(b.Products, part.Products)
	}
	return b, nil
}

// section gives the board of one section alone.
func (p perSection) section(ctx context.Context, s home.Section, day time.Time) (home.Board, error) {
	items, err := p.tables.items(ctx, []int64{s.ID})
	if err != nil || len(items) == 0 {
		return home.Board{Sections: []home.Shown{{Section: s}}}, err
	}
	stock, err := p.tables.stock(ctx, items[s.ID])
	if err != nil {
		return home.Board{}, err
	}
	products := map[int64]home.Product{}
	for _, row := range stock {
		product := products[row.Product.ID]
		product.Name = row.Product.Name
		if row.Inventory.Valid && row.Inventory.V.Day.Equal(day) {
			product.Available += row.Inventory.V.Available
		}
		products[row.Product.ID] = product
	}
	return home.Board{Sections: []home.Shown{showing(s, items[s.ID], products)}, Products: products}, nil
}

// wholeBatches reads each kind of thing once, in a batch, but all there is of it.
type wholeBatches struct {
	tables homeTables
	moment time.Time
}

// Board implements boards.
func (w wholeBatches) Board(ctx context.Context, day time.Time) (home.Board, error) {
	b := home.Board{AsOf: w.moment, Day: day, Products: map[int64]home.Product{}}
	sections, err := w.tables.visible(ctx, w.moment)
	if err != nil {
		return home.Board{}, err
	}
	ids := make([]int64, len(sections))
	for i, s := range sections {
		ids[i] = s.ID
	}
	items, err := loaded(ctx, ids, w.tables.items)
	if err != nil {
		return home.Board{}, err
	}
	products, err := w.products(ctx, slices.Concat(slices.Collect(maps.Values(items))...), day)
	if err != nil {
		return home.Board{}, err
	}
	for _, s := range sections {
		b.Sections = append(b.Sections, showing(s, items[s.ID], products))
	}
	b.Products = products
	return b, nil
}

// products gives those that exist, with what is free of their units.
func (w wholeBatches) products(ctx context.Context, ids []int64, day time.Time) (map[int64]home.Product, error) {
	found, err := loaded(ctx, ids, w.tables.products)
	if err != nil {
		return nil, err
	}
	units, err := loaded(ctx, ids, w.tables.units)
	if err != nil {
		return nil, err
	}
	var unitIDs []int64
	for _, of := range units {
		for _, u := range of {
			unitIDs = append(unitIDs, u.ID)
		}
	}
	inventories, err := loaded(ctx, unitIDs, w.tables.inventories)
	if err != nil {
		return nil, err
	}
	products := make(map[int64]home.Product, len(found))
	for id, p := range found {
		product := home.Product{Name: p.Name}
		for _, u := range units[id] {
			for _, i := range inventories[u.ID] {
				if i.Day.Equal(day) {
					product.Available += i.Available
				}
			}
		}
		products[id] = product
	}
	return products, nil
}

// loaded reads the keys in batches, each once.
func loaded[V any](ctx context.Context, keys []int64, read batch.Func[int64, V]) (map[int64]V, error) {
	loader := batch.New(ctx, read, 0)
	defer loader.Close()
	return loader.LoadMany(ctx, keys)
}

// showing gives a section with those of its products that exist.
func showing(s home.Section, ids []int64, products map[int64]home.Product) home.Shown {
	shown := home.Shown{Section: s}
	for _, id := range ids {
		if product, ok := products[id]; ok {
			shown.ProductIDs = append(shown.ProductIDs, id)
			shown.Available += product.Available
		}
	}
	return shown
}
