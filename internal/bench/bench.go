// Package bench measures the export of reservations: the whole path from SQL to
// the published file, each of its stages alone, and the ladder of changes that
// made it fast, one rung at a time on the same rows. The last rung is the
// product's own path, but that its pages at once are fixed, so that runs can be
// compared; what the lower rungs do worse lives here alone.
// It also measures files from memory, to be held against other programs.
//
// It promises that all rungs write the same cells, or it fails; that added delays
// are delays of the statement's or the call's way and not of the product's code;
// and that what cannot be known is left out.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/blob"
	"rowmill/repository"
	"rowmill/reservation"
	"rowmill/reservation/reservationhttp"
)

// Config says what to measure. Nothing has a default here: the command line has.
type Config struct {
	MySQLDSN string        // "": an SQLite file of the bench's own
	Rows     int           // 1 to MaxRows
	PageSize int           // 1 to reservation.MaxBatch
	Pool     int           // pages fetched at once, 1 to 256
	Repeat   int           // runs of everything, 1 to 100
	RTT      time.Duration // added to each SQL statement, up to MaxDelay
	APIDelay time.Duration // added to each call of the reservation API, up to MaxDelay
	Stages   bool          // measure each stage alone
	Ladder   bool          // climb all rungs, not the last alone
	Profile  io.Writer     // where a CPU profile of what is measured goes; nil: nowhere
}

// Bounds of a Config.
const (
	MaxRows  = 10_000_000
	MaxDelay = 10 * time.Second
)

// Validate gives everything that is wrong, each with the flag's name.
func (c Config) Validate() error {
	var errs []error
	for _, n := range []struct {
		flag         string
		v, least, up int64
	}{
		{"rows", int64(c.Rows), 1, MaxRows}, {"page-size", int64(c.PageSize), 1, reservation.MaxBatch},
		{"pool", int64(c.Pool), 1, 256}, {"repeat", int64(c.Repeat), 1, 100},
	} {
		if n.v < n.least || n.v > n.up {
			errs = append(errs, fmt.Errorf("--%s: %d is not between %d and %d", n.flag, n.v, n.least, n.up))
		}
	}
	for _, d := range []struct {
		flag string
		v    time.Duration
	}{{"rtt", c.RTT}, {"api-delay", c.APIDelay}} {
		if d.v < 0 || d.v > MaxDelay {
			errs = append(errs, fmt.Errorf("--%s: %v is not between 0s and %v", d.flag, d.v, MaxDelay))
		}
	}
	return errors.Join(errs...)
}

// inTheClear is what the bench sees: the rows are made up, and cells are compared.
var inTheClear = access.Scope{Personal: true}

// bench is an open database with its rows, and a place for files.
type bench struct {
	cfg     Config
	wait    func(ctx context.Context, d time.Duration) error
	db      *database
	store   *repository.Reservations
	files   *blob.Store
	dir     string
	request export.Request
	note    func(what string)
}

// Run measures and reports. note, which may not be nil, is told what is being done.
func Run(ctx context.Context, c Config, note func(what string)) (Report, error) {
	return run(ctx, c, note, pause)
}

func run(ctx context.Context, c Config, note func(what string), wait func(ctx context.Context, d time.Duration) error) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	b := &bench{cfg: c, note: note, wait: wait}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return Report{}, err
	}
	if c.Profile != nil { // from here on: the making of the rows is not to be optimised for
		if err := pprof.StartCPUProfile(c.Profile); err != nil {
			return Report{}, fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	r = b.newReport()
	if c.Stages {
		if r.Stages, err = b.stages(ctx); err != nil {
			return Report{}, err
		}
	}
	if err := b.climb(ctx, &r); err != nil {
		return Report{}, err
	}
	r.finish()
	return r, nil
}

// open makes the rows; only after that do statements take longer.
func (b *bench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "rowmill-bench-*"); err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	conns := max(16, b.cfg.Pool) // 16 is the product's default
	if b.db, err = openDatabase(ctx, b.cfg.MySQLDSN, filepath.Join(b.dir, "bench.sqlite"), conns, newLine(b.wait)); err != nil {
		return err
	}
	b.note(fmt.Sprintf("making %d rows", b.cfg.Rows))
	held, err := b.db.prepare(ctx, int64(b.cfg.Rows))
	if err != nil {
		return err
	}
	b.request = export.Request{
		Dataset: reservationhttp.DatasetName, Format: sheet.XLSX, Columns: reservation.DefaultFields(),
		Sort: reservation.DefaultSort.Field, Language: "en", TimeZone: "Asia/Seoul",
	}
	if held > int64(b.cfg.Rows) { // rows are numbered from 1
		b.request.Filter = map[string][]string{"id_lte": {strconv.Itoa(b.cfg.Rows)}}
	}
	b.store = repository.NewReservations(b.db.repo)
	files, err := blob.DirectoryURL(filepath.Join(b.dir, "files"))
	if err != nil {
		return err
	}
	if b.files, err = blob.Open(ctx, files); err != nil {
		return err
	}
	b.db.line.delay.Store(int64(b.cfg.RTT))
	return nil
}

func (b *bench) close() error {
	var errs []error
	if b.files != nil {
		errs = append(errs, b.files.Close())
	}
	if b.db != nil {
		errs = append(errs, b.db.close())
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	return errors.Join(errs...)
}

// encoders is the product's number of encode slots.
func encoders() int { return runtime.GOMAXPROCS(0) }

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
