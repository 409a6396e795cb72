package ingest

import (
	"fmt"
	"time"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// Home is what the home board is made of.
type Home struct {
	Products    []reservation.Product // beside those that there were
	Sections    []HomeSection
	Units       []ProductUnit
	Inventories []Inventory
}

// HomeSection is a part of the board.
type HomeSection struct {
	ID          int64
	Kind        string // banner, notice, carousel, grid or ranking
	Title       string
	Position    int
	From, Until *time.Time // visible from From until before Until; nil: without that bound
	ProductIDs  []int64    // distinct, in their order; none of a banner or a notice
}

// ProductUnit is what of a product can be sold.
type ProductUnit struct {
	ID, ProductID int64
	Name          string
}

// Inventory is how many of a unit are free on a day.
type Inventory struct {
	Day       time.Time
	UnitID    int64
	Available int
}

// The board's size: HomeProducts products, each at least once, in HomeItems places.
const (
	HomeSections  = 37
	HomeProducts  = 79
	HomeItems     = 232
	InventoryDays = 60 // from the first day on
)

// homeKinds give how many products each section of a kind shows.
var homeKinds = []struct {
	kind   string
	sizes  []int
	titles []string
}{
	{"banner", make([]int, 8), []string{"여름 특가", "Winter sale", "연휴 여행", "Members' week"}},
	{"carousel", []int{16, 14, 12, 12, 10, 10, 10, 10, 10}, []string{"오늘의 추천", "Seen lately", "바다가 보이는 방", "New with us", "週末の宿"}},
	{"grid", []int{20, 16, 12, 12, 8, 8, 6, 6}, []string{"호텔 모아보기", "City breaks", "가족 여행", "Last rooms"}},
	{"notice", make([]int, 7), []string{"점검 안내", "Terms have changed", "연휴 운영 안내"}},
	{"ranking", []int{10, 10, 8, 6, 6}, []string{"인기 순위", "Most booked", "재방문 순위"}},
}

var (
	homeRooms = []string{"Garden Suite", "오션뷰 스위트", "Family Loft", "한옥 별채", "Studio", "和室", "Penthouse", "온돌방", "Patio Room", "Atelier", "Casa do Pátio"}
	homeUnits = []string{"Room only", "조식 포함", "Half board", "Non-refundable"}
)

// HomeBoard makes up a board that begins on the day first. It shows the products
// that were met, up to HomeProducts, and where they are fewer it makes more, of
// the properties that were met: the bookings file names 18 products, Synthetic 40.
// The same input gives the same board. Without a property it is fault.Invalid.
func HomeBoard(met Lookups, first time.Time, seed int64) (Home, error) {
	if len(met.Properties) == 0 {
		return Home{}, fault.New(fault.Invalid, "A home board needs products, and these a property: import reservations before.")
	}
	first = first.UTC().Truncate(24 * time.Hour)
	d := newDice(uint64(seed), 0)
	var h Home
	shown := h.choose(met)
	for i := len(shown) - 1; i > 0; i-- {
		j := d.below(i + 1)
		shown[i], shown[j] = shown[j], shown[i]
	}
	h.sections(d, shown, first)
	h.stock(d, shown, first)
	return h, nil
}

// choose gives the ids of the products to show, made up where too few were met.
func (h *Home) choose(met Lookups) []int64 {
	last, ids := int64(0), make([]int64, 0, HomeProducts)
	for _, p := range met.Products {
		last = max(last, p.ID)
		if len(ids) < HomeProducts {
			ids = append(ids, p.ID)
		}
	}
	for n := 0; len(ids) < HomeProducts; n++ {
		last++
		property := met.Properties[n%len(met.Properties)]
		nth := n / len(met.Properties) // of the property
		name := fmt.Sprintf("%s, %s %d", property.Name, homeRooms[nth%len(homeRooms)], nth/len(homeRooms)+1)
		h.Products = append(h.Products, reservation.Product{ID: last, PropertyID: property.ID, Name: name})
		ids = append(ids, last)
	}
	return ids
}

// sections goes round the products, so that each is shown and no section shows one twice.
func (h *Home) sections(d *dice, shown []int64, first time.Time) {
	next := 0
	for _, k := range homeKinds {
		for i, size := range k.sizes {
			s := HomeSection{ID: int64(len(h.Sections)) + 1, Kind: k.kind, Title: k.titles[i%len(k.titles)]}
			for range size {
				s.ProductIDs = append(s.ProductIDs, shown[next%len(shown)])
				next++
			}
			s.From, s.Until = window(d, first)
			h.Sections = append(h.Sections, s)
		}
	}
	for i := range h.Sections { // places are mixed, ids are not
		h.Sections[i].Position = i + 1
	}
	for i := len(h.Sections) - 1; i > 0; i-- {
		a, b := &h.Sections[i], &h.Sections[d.below(i+1)]
		a.Position, b.Position = b.Position, a.Position
	}
}

// window leaves most sections always visible; of the others some are over at
// first, some run then and some begin later.
func window(d *dice, first time.Time) (from, until *time.Time) {
	if !d.oneIn(4) {
		return nil, nil
	}
	begin := day(first, d.below(40)-20)
	end := day(begin, 1+d.below(14))
	if d.oneIn(3) {
		return &begin, nil
	}
	return &begin, &end
}

func (h *Home) stock(d *dice, shown []int64, first time.Time) {
	for _, product := range shown {
		for n := range 1 + d.below(len(homeUnits)) {
			h.Units = append(h.Units, ProductUnit{ID: int64(len(h.Units)) + 1, ProductID: product, Name: homeUnits[n]})
		}
	}
	for n := range InventoryDays {
		for _, u := range h.Units {
			h.Inventories = append(h.Inventories, Inventory{Day: day(first, n), UnitID: u.ID, Available: d.below(13)})
		}
	}
}
