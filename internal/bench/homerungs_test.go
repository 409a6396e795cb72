package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/ingest"
	"rowmill/repository"
	"rowmill/reservation"
)

// randomHome makes up a small board with all that may go amiss: products that do not
// exist, units of such, units without inventories, sections in the same place.
func randomHome(r *rand.Rand) (h ingest.Home) {
	const products, units, days = 10, 14, 3
	for id := range int64(products) {
		if r.IntN(4) > 0 {
			h.Products = append(h.Products, reservation.Product{ID: id + 1, PropertyID: 1 + r.Int64N(2), Name: fmt.Sprintf("방 %d", r.IntN(5))})
		}
	}
	for id := range int64(r.IntN(units)) {
		h.Units = append(h.Units, ingest.ProductUnit{ID: id + 1, ProductID: 1 + r.Int64N(products), Name: "조식"})
		for d := range days {
			if r.IntN(4) > 0 {
				h.Inventories = append(h.Inventories, ingest.Inventory{Day: homeDay.AddDate(0, 0, d), UnitID: id + 1, Available: r.IntN(20)})
			}
		}
	}
	bound := func() *time.Time {
		if r.IntN(2) == 0 {
			return nil
		}
		at := homeMoment.Add(time.Duration(r.IntN(20)-10) * time.Microsecond)
		return &at
	}
	for id := range int64(r.IntN(7)) {
		s := ingest.HomeSection{ID: id + 1, Kind: string(home.Kinds()[r.IntN(5)]), Title: fmt.Sprintf("섹션 %d", id), Position: r.IntN(3), From: bound(), Until: bound()}
		for _, p := range r.Perm(products)[:r.IntN(products)] {
			s.ProductIDs = append(s.ProductIDs, int64(p)+1)
		}
		h.Sections = append(h.Sections, s)
	}
	return h
}

func (d *database) replace(ctx context.Context, h ingest.Home) error {
	for _, table := range []string{"home_sections", "home_section_items", "product_units", "inventories", "products"} {
		if _, err := d.raw.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return repository.NewLoader(d.repo).LoadHome(ctx, h)
}

// rungsAt gives all rungs as the bench has them, but that the moment is the caller's.
func rungsAt(t *testing.T, db *database, moment *time.Time) []boards {
	t.Helper()
	store, tables := repository.NewHome(db.repo), homeTables{db.raw}
	product, err := home.New(home.Config{Store: store, Now: func() time.Time { return *moment }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(product.Close)
	return []boards{
		perSection{tables, *moment, 1}, perSection{tables, *moment, 3}, wholeBatches{tables, *moment},
		boardFunc(func(ctx context.Context, day time.Time) (home.Board, error) {
			return home.Read(ctx, store, *moment, day)
		}),
		product,
	}
}

// All rungs give the board that is worked out without SQL, whatever the data, the
// moment and the day: 2,000 questions on each engine.
func TestAllRungsGiveTheSameHomeBoard(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		if err := db.repo.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		cases, shown := 0, 0
		for seed := range uint64(200) {
			r := rand.New(rand.NewPCG(seed, 7))
			h := randomHome(r)
			if err := db.replace(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			moment := homeMoment
			product := rungsAt(t, db, &moment)[4] // whose copy serves all moments
			for range 10 {
				moment = homeMoment.Add(time.Duration(r.IntN(24)-12) * time.Microsecond)
				day := homeDay.AddDate(0, 0, r.IntN(4))
				want := plainBoard(h, nil, moment, day)
				for i, rung := range append(rungsAt(t, db, &moment)[:4], product) {
					got, err := rung.Board(t.Context(), day)
					if err != nil {
						t.Fatalf("seed %d, rung %d: %v", seed, i+1, err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d, rung %d at %v on %v (-plain +got):\n%s", seed, i+1, moment, day, diff)
					}
				}
				cases++
				shown += len(want.Products)
			}
		}
		if cases != 2000 || shown < 2000 {
			t.Errorf("%d cases showed %d products: too few to tell", cases, shown)
		}
	})
}

func TestAHomeRungEndsWithItsContext(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database) {
		if err := db.repo.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		moment := homeMoment
		for i, rung := range rungsAt(t, db, &moment) {
			if _, err := rung.Board(ctx, homeDay); !errors.Is(err, context.Canceled) {
				t.Errorf("rung %d: %v", i+1, err)
			}
		}
	})
}
