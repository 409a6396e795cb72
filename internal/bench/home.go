package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rowmill/ingest"
	"rowmill/internal/embedded"
	"rowmill/internal/fault"
	"rowmill/repository"
)

// HomeConfig says how to measure the home board. Nothing has a default here.
type HomeConfig struct {
	MySQLDSN string        // "": an SQLite file of the bench's own
	RedisURL string        // "": a Redis inside this process
	Load     bool          // search the rate that each rung holds; else its costs alone are measured
	Start    int           // questions a second of the constant rate and of the first step, 1 to MaxLoad
	Most     int           // of the last step, Start to MaxLoad
	Steady   time.Duration // how long each rung is asked one after the other, and then at the constant rate, up to MaxStep
	Step     time.Duration // how long a step lasts, up to MaxStep
	Finer    int           // steps between the last that was held and the first that was not, 0 to 20
	Tries    int           // of a step before it counts as not held, 1 to 10
	Parallel int           // sections at once, from the second rung on, 1 to 256
	RTT      time.Duration // added to each SQL statement, up to MaxDelay
}

// Bounds of a HomeConfig.
const (
	MaxLoad = 100_000
	MaxStep = 10 * time.Minute
)

// Validate gives everything that is wrong, each with the flag's name.
func (c HomeConfig) Validate() error {
	var errs []error
	for _, n := range []struct {
		flag         string
		v, least, up int
	}{
		{"start", c.Start, 1, MaxLoad}, {"most", c.Most, c.Start, MaxLoad}, {"finer", c.Finer, 0, 20},
		{"tries", c.Tries, 1, 10}, {"parallel", c.Parallel, 1, 256},
	} {
		if n.v < n.least || n.v > n.up {
			errs = append(errs, fmt.Errorf("--%s: %d is not between %d and %d", n.flag, n.v, n.least, n.up))
		}
	}
	for _, d := range []struct {
		flag         string
		v, least, up time.Duration
	}{{"steady", c.Steady, 1, MaxStep}, {"step", c.Step, 1, MaxStep}, {"rtt", c.RTT, 0, MaxDelay}} {
		if d.v < d.least || d.v > d.up {
			errs = append(errs, fmt.Errorf("--%s: %v is not between %v and %v", d.flag, d.v, d.least, d.up))
		}
	}
	return errors.Join(errs...)
}

// The board that is measured: that of an import, on one day and at one moment, so that
// every answer is the same.
var (
	homeFirst  = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	homeDay    = homeFirst.AddDate(0, 0, 9)
	homeMoment = homeDay.Add(12 * time.Hour)
)

// homeDays is how many days the inventories have: more than an import's, so that the
// first rung reads the 2.5 MB of the story.
const homeDays = 68

// moreDays repeats the days of a board from its first on.
func moreDays(board *ingest.Home) {
	for _, i := range board.Inventories {
		i.Day = i.Day.AddDate(0, 0, ingest.InventoryDays)
		if i.Day.Before(homeFirst.AddDate(0, 0, homeDays)) {
			board.Inventories = append(board.Inventories, i)
		}
	}
}

// homeBench is an open database with a board, and what has to be answered.
type homeBench struct {
	cfg    HomeConfig
	note   func(what string)
	db     *database
	redis  *embedded.Redis // nil if it is somebody else's
	dir    string
	want   []byte
	server *serverProcess
}

// Home measures the home board, a rung after the other on the same data. note, which
// may not be nil, is told what is being done.
func Home(ctx context.Context, c HomeConfig, note func(what string)) (r HomeReport, err error) {
	if err := c.Validate(); err != nil {
		return HomeReport{}, err
	}
	b := &homeBench{cfg: c, note: note}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return HomeReport{}, err
	}
	r = b.newReport()
	for i, rung := range b.rungs() {
		b.note(rung.name)
		step, err := b.measure(ctx, rung)
		if err != nil {
			return HomeReport{}, fmt.Errorf("rung %d, %s: %w", i+1, rung.name, err)
		}
		step.Rung = i + 1
		r.Ladder = append(r.Ladder, step)
	}
	r.finish()
	return r, nil
}

func (b *homeBench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "rowmill-bench-*"); err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	const conns = 16 // the product's default
	if b.db, err = openDatabase(ctx, b.cfg.MySQLDSN, filepath.Join(b.dir, "bench.sqlite"), conns, newLine(pause)); err != nil {
		return err
	}
	if b.cfg.RedisURL == "" {
		if b.redis, err = embedded.StartRedis(); err != nil {
			return err
		}
		b.cfg.RedisURL = b.redis.URL()
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	b.server = b.db.findServer(ctx)
	b.db.line.delay.Store(int64(b.cfg.RTT))
	return nil
}

// fill makes the board, or takes that of a former bench.
func (b *homeBench) fill(ctx context.Context) error {
	if _, err := b.db.prepare(ctx, 1); err != nil {
		return err
	}
	known := ingest.Synthetic(1, seed).Lookups()
	board, err := ingest.HomeBoard(known, homeFirst, seed)
	if err != nil {
		return err
	}
	moreDays(&board)
	err = repository.NewLoader(b.db.repo).LoadHome(ctx, board)
	if err != nil && fault.KindOf(err) != fault.Conflict { // which is a former bench's board
		return err
	}
	if err := b.db.indexUnits(ctx); err != nil {
		return err
	}
	b.want, err = answerOf(plainBoard(board, known.Products, homeMoment, homeDay))
	return err
}

// indexUnits gives the slow rungs an index that the product has no need of: they are to
// be slow by what they ask, and not by how the tables are made.
func (d *database) indexUnits(ctx context.Context) error {
	const index = "rowmill_bench_inventories_by_unit"
	if !d.mine { // which is always new
		var columns int
		if err := d.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = ?", index).Scan(&columns); err != nil {
			return fmt.Errorf("look for the index of a former bench: %w", err)
		}
		if columns > 0 {
			return nil
		}
	}
	if _, err := d.raw.ExecContext(ctx, "CREATE INDEX "+index+" ON inventories (product_unit_id, day, available)"); err != nil {
		return fmt.Errorf("index the inventories: %w", err)
	}
	return nil
}

func (b *homeBench) close() error {
	var errs []error
	if b.db != nil {
		errs = append(errs, b.db.close())
	}
	if b.redis != nil {
		errs = append(errs, b.redis.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}
