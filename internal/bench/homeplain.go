package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rowmill/home"
	"rowmill/ingest"
	"rowmill/reservation"
)

// plainBoard works the board out from what was made up, without SQL: what every rung
// has to answer.
func plainBoard(h ingest.Home, known []reservation.Product, moment, day time.Time) home.Board {
	names, free, unitOf := map[int64]string{}, map[int64]int64{}, map[int64]int64{}
	for _, p := range slices.Concat(known, h.Products) {
		names[p.ID] = p.Name
	}
	for _, u := range h.Units {
		unitOf[u.ID] = u.ProductID
	}
	for _, i := range h.Inventories {
		if i.Day.Equal(day) {
			free[unitOf[i.UnitID]] += int64(i.Available)
		}
	}
	b := home.Board{AsOf: moment, Day: day, Products: map[int64]home.Product{}}
	for _, s := range h.Sections {
		if s.From != nil && moment.Before(*s.From) || s.Until != nil && !moment.Before(*s.Until) {
			continue
		}
		shown := home.Shown{Section: home.Section{ID: s.ID, Kind: home.Kind(s.Kind), Title: s.Title, Position: s.Position}}
		if s.From != nil {
			shown.From = *s.From
		}
		if s.Until != nil {
			shown.Until = *s.Until
		}
		for _, id := range s.ProductIDs {
			if name, ok := names[id]; ok {
				shown.ProductIDs = append(shown.ProductIDs, id)
				shown.Available += free[id]
				b.Products[id] = home.Product{Name: name, Available: free[id]}
			}
		}
		b.Sections = append(b.Sections, shown)
	}
	slices.SortFunc(b.Sections, func(x, y home.Shown) int {
		return cmp.Or(cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID))
	})
	return b
}

// homeAnswer is the answer of the product's GET /api/v1/home.
type homeAnswer struct {
	AsOf     time.Time     `json:"as_of"`
	Date     string        `json:"date"`
	Sections []homeSection `json:"sections"`
}

type homeSection struct {
	ID         int64     `json:"id"`
	Kind       home.Kind `json:"kind"`
	Title      string    `json:"title"`
	Position   int       `json:"position"`
	ProductIDs []int64   `json:"product_ids"`
	Available  int64     `json:"available_units"`
}

// answerOf gives the bytes of an answer.
func answerOf(b home.Board) ([]byte, error) {
	a := homeAnswer{AsOf: b.AsOf, Date: b.Day.Format(time.DateOnly), Sections: make([]homeSection, len(b.Sections))}
	for i, s := range b.Sections {
		ids := s.ProductIDs
		if ids == nil {
			ids = []int64{}
		}
		a.Sections[i] = homeSection{s.ID, s.Kind, s.Title, s.Position, ids, s.Available}
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write an answer: %w", err)
	}
	return body, nil
}
