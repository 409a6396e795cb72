package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"rowmill/export/sheet"
	"rowmill/internal/pool"
	"rowmill/internal/table"
	"rowmill/reservation/reservationhttp"
)

// FileConfig says what file to make from memory.
type FileConfig struct {
	Rows    int    // made-up rows, 1 to MaxRows; with TSV: 0 or the most rows to take
	Columns int    // the first of the 20, 1 to 20
	Out     string // the file, overwritten; "": a temporary one, removed
	TSV     string // read the rows from here; "": make them up
	Alone   bool   // make the rows once more without a file, to know what to subtract
}

// Validate gives everything that is wrong, each with the flag's name.
func (c FileConfig) Validate() error {
	var errs []error
	if least := 1; c.Rows > MaxRows || c.Rows < least && c.TSV == "" || c.Rows < 0 {
		errs = append(errs, fmt.Errorf("--rows: %d is not between %d and %d", c.Rows, least, MaxRows))
	}
	if c.Columns < 1 || c.Columns > len(columns) {
		errs = append(errs, fmt.Errorf("--columns: %d is not between 1 and %d", c.Columns, len(columns)))
	}
	return errors.Join(errs...)
}

// File makes the file with the product's settings and reports what it took.
func File(ctx context.Context, c FileConfig) (r FileReport, err error) {
	if err := c.Validate(); err != nil {
		return FileReport{}, err
	}
	out, remove, err := c.create()
	if err != nil {
		return FileReport{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var cost Cost
	r.Columns = c.Columns
	r.PeakBytes, err = peakOf(ctx, func() (err error) {
		cost, err = measure(func() (err error) {
			r.Rows, err = c.write(ctx, out)
			return errors.Join(err, out.Close())
		})
		return err
	})
	if err != nil {
		return FileReport{}, err
	}
	r.MaxResident = maxResident() // before the rows are made once more
	r.File = taken(cost)
	info, err := os.Stat(out.Name())
	if err != nil {
		return FileReport{}, fmt.Errorf("measure the file: %w", err)
	}
	r.FileBytes = info.Size()
	if c.Alone {
		cost, err = measure(func() error { return c.discard(ctx) })
		alone := taken(cost)
		r.Alone = &alone
	}
	return r, err
}

func (c FileConfig) create() (out *os.File, remove func() error, err error) {
	if c.Out != "" {
		if out, err = os.Create(c.Out); err != nil {
			err = fmt.Errorf("create the file: %w", err)
		}
		return out, func() error { return nil }, err
	}
	if out, err = os.CreateTemp("", "rowmill-bench-*.xlsx"); err != nil {
		return nil, nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return out, func() error { return os.Remove(out.Name()) }, nil
}

// write is the way of export.Runner from pages to file: rows are made on the
// fetch slots, encoded on the encode slots, both in order, a window of each held.
func (c FileConfig) write(ctx context.Context, to io.Writer) (rows int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	enc, err := sheet.New(to, sheet.Spec{Format: sheet.XLSX, Name: "Reservations", Columns: columns[:c.Columns]})
	if err != nil {
		return 0, err
	}
	spans := placed(c.pages(ctx), enc)
	for chunk, err := range pool.Map(ctx, pool.New(encoders()).Lane(), encoders()+1, spans, func(_ context.Context, s sheet.Span) (sheet.Chunk, error) {
		return enc.Encode(s)
	}) {
		if err == nil {
			err = enc.Append(chunk)
		}
		if err != nil {
			cancel()
			return rows, fmt.Errorf("rows %d and following: %w", rows+1, err)
		}
		rows += int64(chunk.Rows)
	}
	return rows, enc.Close(sheet.Info{Title: "Export info"})
}

func placed(pages iter.Seq2[[]table.Row, error], enc sheet.Encoder) iter.Seq2[sheet.Span, error] {
	return func(yield func(sheet.Span, error) bool) {
		for rows, err := range pages {
			if err != nil {
				yield(sheet.Span{}, err)
				return
			}
			for _, span := range enc.Place(rows) {
				if !yield(span, nil) {
					return
				}
			}
		}
	}
}

func (c FileConfig) discard(ctx context.Context) error {
	for _, err := range c.pages(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Rows in memory need no fetching ahead: one page is made while others are encoded.
const fetchSlots, ahead = 1, 2

// pages gives the rows, a page at a time, in order.
func (c FileConfig) pages(ctx context.Context) iter.Seq2[[]table.Row, error] {
	lane := pool.New(fetchSlots).Lane()
	if c.TSV != "" {
		return pool.Map(ctx, lane, ahead, tsvBlocks(c.TSV, c.Rows), func(_ context.Context, b block) ([]table.Row, error) {
			return b.rows(c.Columns)
		})
	}
	return pool.Map(ctx, lane, ahead, runsOf(c.Rows), func(_ context.Context, r stretch) ([]table.Row, error) {
		return madeUp(r.first, r.rows, c.Columns), nil
	})
}

// stretch is a run of row numbers.
type stretch struct{ first, rows int }

func runsOf(rows int) iter.Seq2[stretch, error] {
	return func(yield func(stretch, error) bool) {
		for first := 1; first <= rows; first += reservationhttp.DefaultPageSize {
			if !yield(stretch{first, min(reservationhttp.DefaultPageSize, rows-first+1)}, nil) {
				return
			}
		}
	}
}
