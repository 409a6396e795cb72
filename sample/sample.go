// Package sample carries the real bookings that Rowmill can be tried on. Its
// README says whose they are and under which licence.
package sample

import (
	"bytes"
	_ "embed"
	"io"
)

// Rows is how many bookings HotelBookings holds, its header not counted.
const Rows = 119_390

//go:embed hotel_bookings.csv.gz
var hotelBookings []byte

// HotelBookings gives the bookings as gzipped CSV (UTF-8, one header row). Each
// call gives a reader of its own.
func HotelBookings() io.Reader { return bytes.NewReader(hotelBookings) }
