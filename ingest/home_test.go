package ingest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

var boardDay = time.Date(2026, 3, 1, 13, 30, 0, 0, time.FixedZone("", 9*60*60))

// met gives look-ups of two properties with so many products.
func met(products int) ingest.Lookups {
	l := ingest.Lookups{Properties: []reservation.Property{{ID: 1, Name: "City"}, {ID: 2, Name: "Resort"}}}
	for n := range products {
		l.Products = append(l.Products, reservation.Product{ID: int64(n) + 1, PropertyID: int64(n%2) + 1, Name: fmt.Sprintf("room %d", n)})
	}
	return l
}

func board(t *testing.T, l ingest.Lookups, seed int64) ingest.Home {
	t.Helper()
	h, err := ingest.HomeBoard(l, boardDay, seed)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// 18 products are those of the bookings file, 40 those of Synthetic.
func TestHomeBoardIsOfItsSize(t *testing.T) {
	for _, products := range []int{0, 18, 40, 79, 200} {
		for seed := range int64(20) {
			l := met(products)
			h := board(t, l, seed)
			type size struct{ made, sections, kinds, showing, items, shown int }
			got := size{made: len(h.Products), sections: len(h.Sections)}
			known, kinds, shown, places := map[int64]bool{}, map[string]bool{}, map[int64]bool{}, map[int]bool{}
			names := map[string]bool{}
			for _, p := range append(l.Products, h.Products...) {
				if known[p.ID] || names[p.Name] {
					t.Errorf("product %d, %q, is there twice", p.ID, p.Name)
				}
				known[p.ID], names[p.Name] = true, true
			}
			for _, s := range h.Sections {
				kinds[s.Kind], places[s.Position] = true, true
				if s.From != nil && s.Until != nil && !s.Until.After(*s.From) || s.Title == "" {
					t.Errorf("section %+v", s)
				}
				if len(s.ProductIDs) > 0 {
					got.showing++
				}
				once := map[int64]bool{}
				for _, id := range s.ProductIDs {
					if once[id] || !known[id] {
						t.Errorf("section %d shows product %d twice, or it does not exist", s.ID, id)
					}
					once[id], shown[id] = true, true
					got.items++
				}
			}
			got.kinds, got.shown = len(kinds), len(shown)
			want := size{made: max(79-products, 0), sections: 37, kinds: 5, showing: 22, items: 232, shown: 79}
			if got != want {
				t.Errorf("%d products, seed %d: got %+v, want %+v", products, seed, got, want)
			}
			if len(places) != 37 || !places[1] || !places[37] {
				t.Errorf("the sections stand in %d places", len(places))
			}
		}
	}
	if got := []int{ingest.HomeSections, ingest.HomeItems, ingest.HomeProducts}; !cmp.Equal(got, []int{37, 232, 79}) {
		t.Errorf("the constants say %v", got)
	}
}

func TestEveryShownProductHasUnitsAndStock(t *testing.T) {
	h := board(t, met(18), 1)
	products, stock := map[int64]int{}, map[int64]int{}
	for _, u := range h.Units {
		products[u.ProductID]++
	}
	if len(products) != ingest.HomeProducts {
		t.Errorf("%d products have units", len(products))
	}
	first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, i := range h.Inventories {
		stock[i.UnitID]++
		if i.Day.Before(first) || !i.Day.Before(first.AddDate(0, 0, ingest.InventoryDays)) || i.Available < 0 {
			t.Errorf("inventory %+v", i)
		}
	}
	if len(stock) != len(h.Units) {
		t.Errorf("%d of %d units have a stock", len(stock), len(h.Units))
	}
	for unit, days := range stock {
		if days != ingest.InventoryDays {
			t.Errorf("unit %d has a stock on %d days", unit, days)
		}
	}
}

func TestHomeBoardHangsOnItsInputAlone(t *testing.T) {
	one, same, other := board(t, met(18), 1), board(t, met(18), 1), board(t, met(18), 2)
	if diff := cmp.Diff(one, same); diff != "" {
		t.Errorf("the same input gives another board:\n%s", diff)
	}
	if cmp.Equal(one.Sections, other.Sections) {
		t.Error("another seed gives the same sections")
	}
}

func TestHomeBoardNeedsAProperty(t *testing.T) {
	if _, err := ingest.HomeBoard(ingest.Lookups{}, boardDay, 1); fault.KindOf(err) != fault.Invalid {
		t.Errorf("got %v", err)
	}
}
