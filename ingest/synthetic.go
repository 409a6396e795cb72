package ingest

import (
	"strconv"
	"time"

	"rowmill/reservation"
)

// Synthetic makes rows reservations in the shape of the hotel bookings, for tests
// of scale. Everything is made up. A row hangs on the seed and its number alone:
// row n is the same however many rows there are, in any order and on any machine.
func Synthetic(rows int, seed int64) *Source {
	total := int64(max(rows, 0))
	return &Source{
		lookups: syntheticLookups,
		rows: func(yield func(reservation.Reservation, error) bool) {
			for n := int64(1); n <= total; n++ {
				if !yield(SyntheticRow(n, seed), nil) {
					return
				}
			}
		},
		at: func(n int64) (reservation.Reservation, error) {
			if n < 1 || n > total {
				return reservation.Reservation{}, noRow(n)
			}
			return SyntheticRow(n, seed), nil
		},
	}
}

var (
	syntheticProperties = []string{"서울 시티 호텔", "제주 리조트", "沖縄リゾート", "Lisboa Palace", "Algarve Beach Resort"}
	syntheticRooms      = []string{"A", "B", "C", "D", "E", "F", "G", "H"}
	syntheticChannels   = []string{
		"TA/TO · Online TA", "TA/TO · Offline TA/TO", "TA/TO · Groups", "Direct · Direct", "Direct · Groups",
		"Corporate · Corporate", "Corporate · Groups", "Direct · Complementary", "GDS · Online TA", "Corporate · Aviation",
	}
	syntheticStart = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)
	countries      = []string{"KOR", "JPN", "PRT", "GBR", "FRA", "ESP", "DEU", "USA", "CHN", "BRA"}
	meals          = []string{"BB", "BB", "BB", "BB", "HB", "SC", "FB", "Undefined"}
	customerTypes  = []string{"Transient", "Transient", "Transient", "Transient-Party", "Contract", "Group"}
)

const (
	syntheticAgents = 80      // agencies of each property
	syntheticDays   = 3 * 365 // arrivals in the three years from syntheticStart
)

func syntheticLookups() Lookups {
	var l Lookups
	for i, name := range syntheticProperties {
		id := int64(i) + 1
		l.Properties = append(l.Properties, reservation.Property{ID: id, Name: name})
		for _, room := range syntheticRooms {
			l.Products = append(l.Products, reservation.Product{ID: int64(len(l.Products)) + 1, PropertyID: id, Name: name + ", room " + room})
		}
		for n := range syntheticAgents {
			number := strconv.Itoa(n + 1)
			l.Agents = append(l.Agents, reservation.Agent{ID: int64(len(l.Agents)) + 1, PropertyID: id, Code: number, Name: name + ", agency " + number})
		}
	}
	for i, name := range syntheticChannels {
		l.Channels = append(l.Channels, reservation.Channel{ID: int64(i) + 1, Name: name})
	}
	return l
}

// SyntheticRow makes row n, from 1, of every Synthetic source with the seed.
func SyntheticRow(n, seed int64) reservation.Reservation {
	d := newDice(uint64(seed), n)
	property, room := d.below(len(syntheticProperties)), d.below(len(syntheticRooms))
	arrival := day(syntheticStart, d.below(syntheticDays))
	nights := d.below(7) + d.below(4)*d.below(3)
	row := reservation.Reservation{
		ID:         n,
		Code:       code(n),
		PropertyID: int64(property) + 1,
		ProductID:  int64(property*len(syntheticRooms)+room) + 1,
		ChannelID:  int64(d.below(len(syntheticChannels))) + 1,
		BookedOn:   day(arrival, -d.below(d.below(400)+1)), // most are booked late
		CheckIn:    arrival,
		CheckOut:   day(arrival, nights),
		Nights:     int64(nights),
		Payment:    payment(int64(d.below(400_00)), int64(nights), "No Deposit"),
		Stay: &reservation.Stay{
			RoomType: pick(d, syntheticRooms), Meal: pick(d, meals), Requests: int64(d.below(4)), Changes: int64(d.below(3)),
		},
	}
	syntheticStatus(d, &row)
	syntheticParties(d, &row)
	makeUp(d, &row)
	return row
}

// syntheticStatus cancels as many as the published bookings had.
func syntheticStatus(d *dice, r *reservation.Reservation) {
	lead := int(r.CheckIn.Sub(r.BookedOn) / (24 * time.Hour))
	switch n := d.below(100); {
	case n < 63:
		r.Status, r.StatusDate = reservation.CheckedOut, r.CheckOut
	case n < 99:
		r.Status, r.StatusDate = reservation.Canceled, day(r.BookedOn, d.below(lead+1))
		if n < 75 {
			r.Payment.Terms = "Non Refund"
		}
	default:
		r.Status, r.StatusDate = reservation.NoShow, r.CheckIn
	}
}

// syntheticParties says who comes, who sent them and who pays, each of which may
// be unknown.
func syntheticParties(d *dice, r *reservation.Reservation) {
	r.Guest = &reservation.Guest{Adults: int64(d.below(4)), CustomerType: pick(d, customerTypes), Repeated: d.oneIn(30)}
	if r.Guest.Repeated {
		r.Guest.EarlierKept, r.Guest.EarlierCanceled = int64(d.below(10)), int64(d.below(3))
	}
	if !d.oneIn(200) {
		country := pick(d, countries)
		r.Guest.Country = &country
	}
	if !d.oneIn(1000) {
		children := int64(d.below(3))
		r.Guest.Children = &children
	}
	if d.oneIn(100) {
		r.Guest.Babies = 1
	}
	if d.oneIn(16) {
		r.Stay.Parking = 1
	}
	if d.oneIn(30) {
		r.Stay.WaitingDays = int64(d.below(300))
	}
	if !d.oneIn(7) {
		agent := (r.PropertyID-1)*syntheticAgents + int64(d.below(syntheticAgents)) + 1
		r.AgentID = &agent
	}
	if d.oneIn(16) {
		company := strconv.Itoa(1 + d.below(500))
		r.Company = &company
	}
}
