// Package ingest makes reservations out of what is not yet in the database: the
// published hotel bookings file, or a seed. It owns how a line of the file maps
// to a reservation and its parts, and the fixed rules for all that the file does
// not say. It stores nothing: a Store takes a Source in one transaction.
//
// Names, phone numbers, e-mail addresses, memos, coupons, cancellation reasons,
// payment times, times of change and the currency are made up by fixed rules from
// fixed lists, of either source; no person is meant. Everything of Synthetic is made up.
//
// One pass over the file is enough. A look-up (property, product, channel, agent)
// gets its id when a row first names it, and a Store writes rows and look-ups in
// one transaction, so their order in it is nobody's concern. So a pipe can be read as well
// as a file, nothing is held but the look-ups, and a bad line late in the file
// costs one roll-back and no reading ahead.
package ingest

import (
	"context"
	"iter"
	"slices"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// Source is a stream of reservations and the look-ups that they name.
type Source struct {
	rows    iter.Seq2[reservation.Reservation, error]
	lookups func() Lookups
	at      func(n int64) (reservation.Reservation, error) // nil: only by reading up to n
}

// Lookups are what reservations refer to, each list in the order of its ids from 1.
type Lookups struct {
	Properties []reservation.Property
	Products   []reservation.Product
	Channels   []reservation.Channel
	Agents     []reservation.Agent
}

// Store takes reservations in.
type Store interface {
	// Load stores every row of src and its look-ups, or nothing: it is one
	// transaction, undone by any error and when ctx ends. A store that already has
	// reservations refuses with a fault.Conflict. progress, if not nil, is told
	// now and then how many rows it has taken, never fewer than before; it may build
	// indexes for a while after the last.
	Load(ctx context.Context, src *Source, progress func(done int64)) error
}

// Report is what an import took in.
type Report struct {
	Rows        int64
	AmountMinor int64 // sum of the payments, in hundredths of Currency
	Statuses    map[reservation.Status]int64
}

// NewSource makes a source of rows by ascending id, whose look-ups are known when
// the rows that name them have been given.
func NewSource(rows iter.Seq2[reservation.Reservation, error], lookups func() Lookups) *Source {
	return &Source{rows: rows, lookups: lookups}
}

// Run loads src into store and reports what it took in. The error is the
// source's (fault.Invalid, with a field for each bad line) or the store's.
func Run(ctx context.Context, store Store, src *Source, progress func(done int64)) (Report, error) {
	var r Report
	tallied := *src
	tallied.rows = func(yield func(reservation.Reservation, error) bool) {
		r = Report{Statuses: map[reservation.Status]int64{}}
		for row, err := range src.Rows() {
			if err == nil {
				r.Rows++
				r.Statuses[row.Status]++
				if row.Payment != nil {
					r.AmountMinor += row.Payment.AmountMinor
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
	if err := store.Load(ctx, &tallied, progress); err != nil {
		return Report{}, err
	}
	return r, nil
}

// Rows gives the reservations by id from 1 without a gap. An error is given once
// and ends the stream. The rows of a file can be read once.
func (s *Source) Rows() iter.Seq2[reservation.Reservation, error] { return s.rows }

// Lookups gives the look-ups met so far: all that the rows given until now name.
// Later calls only add at the ends of the lists.
func (s *Source) Lookups() Lookups { return s.lookups() }

// Row gives row n, from 1: at once of a synthetic source, by reading up to it of
// a file. A row that does not exist is a fault.NotFound.
func (s *Source) Row(n int64) (reservation.Reservation, error) {
	if s.at != nil {
		return s.at(n)
	}
	for r, err := range s.rows {
		if err != nil || r.ID == n {
			return r, err
		}
	}
	return reservation.Reservation{}, noRow(n)
}

func noRow(n int64) error { return fault.New(fault.NotFound, "There is no row %d.", n) }

// registry numbers look-ups in the order in which they are met.
type registry struct {
	Lookups
	properties map[string]int64
	products   map[owned]int64
	channels   map[[2]string]int64
	agents     map[owned]int64
}

// owned is a name that is unique within a property.
type owned struct {
	property int64
	name     string
}

func newRegistry() *registry {
	return &registry{
		properties: map[string]int64{},
		products:   map[owned]int64{},
		channels:   map[[2]string]int64{},
		agents:     map[owned]int64{},
	}
}

func (g *registry) met() Lookups {
	return Lookups{
		Properties: slices.Clip(g.Properties),
		Products:   slices.Clip(g.Products),
		Channels:   slices.Clip(g.Channels),
		Agents:     slices.Clip(g.Agents),
	}
}

func (g *registry) property(name string) int64 {
	return number(g.properties, name, &g.Properties, func(id int64) reservation.Property {
		return reservation.Property{ID: id, Name: name}
	})
}

func (g *registry) product(property int64, room string) int64 {
	return number(g.products, owned{property, room}, &g.Products, func(id int64) reservation.Product {
		return reservation.Product{ID: id, PropertyID: property, Name: g.Properties[property-1].Name + ", room " + room}
	})
}

func (g *registry) channel(distribution, segment string) int64 {
	return number(g.channels, [2]string{distribution, segment}, &g.Channels, func(id int64) reservation.Channel {
		return reservation.Channel{ID: id, Name: distribution + " · " + segment}
	})
}

func (g *registry) agent(property int64, code string) int64 {
	return number(g.agents, owned{property, code}, &g.Agents, func(id int64) reservation.Agent {
		return reservation.Agent{ID: id, PropertyID: property, Code: code, Name: g.Properties[property-1].Name + ", agency " + code}
	})
}

// number gives key's id, and a new one with a new entry if key is new.
func number[K comparable, T any](ids map[K]int64, key K, list *[]T, entry func(id int64) T) int64 {
	id, ok := ids[key]
	if !ok {
		id = int64(len(*list)) + 1
		ids[key] = id
		*list = append(*list, entry(id))
	}
	return id
}
