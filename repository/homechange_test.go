package repository

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/internal/fault"
)

func TestAChangeIsStoredWholeAndSeenAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		loadBoard(t, db)
		now := boardDay
		s := boardOf(t, db, &now)
		if _, err := s.Board(t.Context(), boardDay); err != nil {
			t.Fatal(err)
		}
		c := home.Change{ID: 9, Title: "새 이름", Position: 0, From: boardDay.Add(-time.Hour), Until: boardDay.Add(1500 * time.Microsecond), ProductIDs: []int64{7, 3}}
		if _, err := s.Change(t.Context(), c, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		b, err := s.Board(t.Context(), boardDay)
		if err != nil {
			t.Fatal(err)
		}
		want := home.Section{ID: 9, Kind: home.Carousel, Title: c.Title, From: c.From, Until: c.Until, ProductIDs: c.ProductIDs}
		if diff := cmp.Diff(want, b.Sections[0].Section); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		stored, err := NewHome(db).Section(t.Context(), 9)
		if diff := cmp.Diff(want, stored); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if err := NewHome(db).Put(t.Context(), home.Section{ID: 99, Title: "x"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown section: %v", err)
		}
		if _, err := NewHome(db).Section(t.Context(), 99); fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown section is read: %v", err)
		}
		// A product twice is against an index: what was stored before stays.
		if err := NewHome(db).Put(t.Context(), home.Section{ID: 9, Title: "half", ProductIDs: []int64{1, 1}}); err == nil {
			t.Error("a section shows a product twice")
		}
		if after, err := NewHome(db).Section(t.Context(), 9); !cmp.Equal(stored, after) || err != nil {
			t.Errorf("half a change was stored: %+v, %v", after, err)
		}
	})
}

func TestChangesAtOnceAllSucceed(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		board := loadBoard(t, db)
		var products []int64
		for _, s := range board.Sections {
			products = append(products, s.ProductIDs...)
		}
		slices.Sort(products)
		products = slices.Compact(products)
		var wrong sync.Map
		var changing sync.WaitGroup
		for n := range 8 {
			changing.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), 2))
				for range 12 {
					s := home.Section{ID: 9 + int64(r.IntN(4)), Title: fmt.Sprint(n)}
					for _, i := range r.Perm(len(products))[:10] {
						s.ProductIDs = append(s.ProductIDs, products[i])
					}
					if err := NewHome(db).Put(t.Context(), s); err != nil {
						wrong.Store(n, err)
					}
				}
			})
		}
		changing.Wait()
		wrong.Range(func(_, err any) bool { t.Error(err); return true })
		for id := int64(9); id < 13; id++ {
			s, err := NewHome(db).Section(t.Context(), id)
			if err != nil || len(s.ProductIDs) != 10 {
				t.Errorf("section %d has %d products: %v", id, len(s.ProductIDs), err)
			}
		}
	})
}
