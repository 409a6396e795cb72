package ingest

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// MaxBadLines is how many bad lines a file may show before it is read no further:
// enough to mend a file in one go, few enough to read.
const MaxBadLines = 20

// Currency is what HotelBookings and Synthetic count amounts in. The bookings
// file names none; its hotels are in Portugal.
const Currency = "EUR"

// HotelBookings reads the file of Antonio, de Almeida and Nunes, "Hotel booking
// demand datasets", Data in Brief 22 (2019), doi:10.1016/j.dib.2018.11.126, CC BY
// 4.0, as CSV or gzipped CSV, told apart by the first bytes. Columns are found by
// name, in any order; each must be there and no other.
//
// A reservation's id is its line's place, from 1. The source gives one
// fault.Invalid that names every bad field of up to MaxBadLines lines, and no row
// after the first bad line.
func HotelBookings(r io.Reader) *Source {
	g := newRegistry()
	return &Source{
		lookups: g.met,
		rows: func(yield func(reservation.Reservation, error) bool) {
			if err := readBookings(r, g, func(row reservation.Reservation) bool { return yield(row, nil) }); err != nil {
				yield(reservation.Reservation{}, err)
			}
		},
	}
}

func readBookings(r io.Reader, g *registry, yield func(reservation.Reservation) bool) error {
	plain, err := decompress(r)
	if err != nil {
		return err
	}
	lines := csv.NewReader(plain)
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return unreadable(err, 1, nil)
	}
	places, err := readHeader(header)
	if err != nil {
		return err
	}
	rec := record{places: places}
	bad := 0
	for id := int64(1); bad < MaxBadLines; id++ {
		before := len(rec.wrong)
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if len(fields) > 0 {
			rec.line, _ = lines.FieldPos(0)
		}
		if err != nil {
			if err = rec.badLine(err, len(header), len(fields)); err != nil {
				return unreadable(err, rec.line+1, rec.wrong)
			}
			bad++
			continue
		}
		rec.fields = fields
		row := booking(&rec, id, g)
		if len(rec.wrong) > before {
			bad++
		}
		if bad == 0 && !yield(row) {
			return nil
		}
	}
	return badLines(bad, rec.wrong)
}

// decompress gives the CSV inside r, whether it is gzipped or not.
func decompress(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	magic, _ := buffered.Peek(2) // a read error comes back with the next read
	if string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	plain, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, unreadable(err, 1, nil)
	}
	return plain, nil
}

func unreadable(cause error, line int, wrong []fault.Field) error {
	if errors.Is(cause, io.EOF) {
		return fault.New(fault.Invalid, "The file is empty: line 1 must name the columns.")
	}
	e := fault.Wrap(cause, fault.Invalid, "The file cannot be read from line %d on: it is damaged or cut off.", line)
	e.Fields = wrong
	return e
}

func badLines(bad int, wrong []fault.Field) error {
	switch {
	case bad == 0:
		return nil
	case bad == 1:
		return fault.InvalidFields("The file has a bad line; nothing was imported.", wrong...)
	case bad < MaxBadLines:
		return fault.InvalidFields(fmt.Sprintf("The file has %d bad lines; nothing was imported.", bad), wrong...)
	}
	return fault.InvalidFields(fmt.Sprintf("The file has %d bad lines and perhaps more: it was read no further, and nothing was imported.", bad), wrong...)
}

// readHeader gives each column's place in a line, or names every column that is
// missing, unknown or there twice.
func readHeader(header []string) (places [columns]int, err error) {
	var wrong []fault.Field
	fail := func(name, detail string) {
		wrong = append(wrong, fault.Field{Name: "line 1", Detail: fmt.Sprintf("column %.60s: %s", name, detail)})
	}
	seen := map[string]bool{}
	for i, name := range header {
		if i == 0 {
			name = strings.TrimPrefix(name, "\uFEFF") // a spreadsheet's byte-order mark
		}
		c, ok := columnOf[name]
		switch {
		case !ok && len(wrong) < MaxBadLines:
			fail(fmt.Sprintf("%q", name), "is unknown")
		case seen[name]:
			fail(name, "is there twice")
		case ok:
			places[c] = i
		}
		seen[name] = true
	}
	for _, name := range columnNames {
		if !seen[name] {
			fail(name, "is missing")
		}
	}
	if len(wrong) > 0 {
		return places, fault.InvalidFields("The file's columns are not those of the hotel bookings.", wrong...)
	}
	return places, nil
}
