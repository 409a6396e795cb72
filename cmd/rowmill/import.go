package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"rowmill/ingest"
	"rowmill/internal/table"
	"rowmill/repository"
	"rowmill/reservation"
)

type importCmd struct {
	HotelBookings importHotelBookings `cmd:"" help:"Load the published hotel bookings file (CSV, gzip or plain)."`
	Synthetic     importSynthetic     `cmd:"" help:"Make deterministic rows of the same shape, for scale."`
}

type importHotelBookings struct {
	databaseFlags `embed:""`
	File          string `arg:"" type:"existingfile" help:"hotel_bookings.csv or .csv.gz."`
}

func (i importHotelBookings) Run(ctx context.Context, s streams) (err error) {
	f, err := os.Open(i.File)
	if err != nil {
		return fmt.Errorf("open the bookings: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return i.load(ctx, s, ingest.HotelBookings(f), -1)
}

type importSynthetic struct {
	databaseFlags `embed:""`
	Rows          int   `name:"rows" required:"" help:"How many reservations to make."`
	Seed          int64 `name:"seed" default:"1" help:"The same seed makes the same rows."`
}

func (i importSynthetic) Run(ctx context.Context, s streams) error {
	if i.Rows < 1 || i.Rows > 100_000_000 {
		return fmt.Errorf("--rows: %d is not between 1 and 100000000", i.Rows)
	}
	return i.load(ctx, s, ingest.Synthetic(i.Rows, i.Seed), int64(i.Rows))
}

// load migrates the database and loads the source into it; total is -1 if it is not known.
func (f databaseFlags) load(ctx context.Context, s streams, src *ingest.Source, total int64) (err error) {
	db, err := f.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	return loadInto(ctx, s, repository.NewLoader(db), src, total)
}

// loadInto loads with a progress bar, says what came in, and makes up a home board.
func loadInto(ctx context.Context, s streams, store boardStore, src *ingest.Source, total int64) error {
	bar := newProgress(s.err, "import", total)
	report, err := ingest.Run(ctx, store, src, bar.set)
	if err != nil {
		bar.abandon()
		return err
	}
	bar.finish(report.Rows)
	_, err = fmt.Fprintf(s.out, "imported %d reservations: %d checked out, %d canceled, %d no-shows; payments of %s EUR\n", report.Rows,
		report.Statuses[reservation.CheckedOut], report.Statuses[reservation.Canceled], report.Statuses[reservation.NoShow], decimal(report.AmountMinor))
	if err != nil {
		return err
	}
	return loadHome(ctx, s, store, src)
}

// decimal writes hundredths as a decimal number.
func decimal(hundredths int64) string {
	return string(table.DecimalOf(hundredths, 2).AppendDecimal(nil))
}
