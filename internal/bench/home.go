package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"rowmill/home"
	"rowmill/ingest"
	"rowmill/internal/cache"
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
	switch err := repository.NewLoader(b.db.repo).LoadHome(ctx, board); {
	case err == nil:
		if err := b.db.indexUnits(ctx); err != nil {
			return err
		}
	case fault.KindOf(err) != fault.Conflict: // a former bench has made it
		return err
	}
	b.want, err = answerOf(plainBoard(board, known.Products, homeMoment, homeDay))
	return err
}

// indexUnits gives the slow rungs the index that the product has no need of: they are
// to be slow by what they ask, and not by how the tables are made.
func (d *database) indexUnits(ctx context.Context) error {
	if _, err := d.raw.ExecContext(ctx, "CREATE INDEX rowmill_bench_inventories_by_unit ON inventories (product_unit_id, day, available)"); err != nil {
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

// homeRung is a way to the board, made anew for its measurement.
type homeRung struct {
	name string
	open func(hits *homeHits) (b boards, closing func() error, err error)
}

// homeHits counts where the board's structure came from.
type homeHits struct{ copies, origin atomic.Int64 }

func (h *homeHits) observe(e cache.Event) {
	switch e {
	case cache.FirstHit, cache.SecondHit, cache.StaleHit:
		h.copies.Add(1)
	case cache.Load:
		h.origin.Add(1)
	}
}

// rungs gives the ladder, the product last.
func (b *homeBench) rungs() []homeRung {
	tables, store := homeTables{b.db.raw}, repository.NewHome(b.db.repo)
	of := func(b boards) func(*homeHits) (boards, func() error, error) {
		return func(*homeHits) (boards, func() error, error) { return b, func() error { return nil }, nil }
	}
	origin := boardFunc(func(ctx context.Context, day time.Time) (home.Board, error) {
		return home.Read(ctx, store, homeMoment, day)
	})
	return []homeRung{
		{"questions for each section, whole rows", of(perSection{tables, homeMoment, 1})},
		{fmt.Sprintf("+ %d sections at once", b.cfg.Parallel), of(perSection{tables, homeMoment, b.cfg.Parallel})},
		{"+ one batch of each kind (IN), whole rows", of(wholeBatches{tables, homeMoment})},
		{"+ only what is needed, sums in SQL: the product's origin", of(origin)},
		{"+ copies of the structure in two tiers: the product", func(hits *homeHits) (boards, func() error, error) {
			s, err := home.New(home.Config{
				Store: store, RedisURL: b.cfg.RedisURL, Limit: homeLimit, Now: func() time.Time { return homeMoment }, Observe: hits.observe,
			})
			if err != nil {
				return nil, nil, err
			}
			return s, s.Close, nil
		}},
	}
}

// measure serves a rung over HTTP and asks.
func (b *homeBench) measure(ctx context.Context, rung homeRung) (step HomeStep, err error) {
	step = HomeStep{Name: rung.name}
	hits := &homeHits{}
	asked, closing, err := rung.open(hits)
	if err != nil {
		return HomeStep{}, err
	}
	handler := &homeHandler{boards: asked, day: homeDay}
	server, err := serveAPI(ctx, handler, 0, pause)
	if err != nil {
		return HomeStep{}, errors.Join(err, closing())
	}
	defer func() {
		if cause := handler.fault.Load(); cause != nil && err != nil {
			err = errors.Join(err, *cause)
		}
		err = errors.Join(err, server.close(), closing())
	}()
	t := target{url: server.url, judge: judgeBy(b.want)}
	if err := b.costs(ctx, t, &step); err != nil {
		return HomeStep{}, err
	}
	if b.cfg.Load {
		err = b.load(ctx, t, &step)
	}
	step.FromCopies, step.FromOrigin = hits.copies.Load(), hits.origin.Load()
	return step, err
}

// costs asks for one answer after the other.
func (b *homeBench) costs(ctx context.Context, t target, step *HomeStep) error {
	a := newAsker(t)
	defer a.close()
	line := b.db.line
	line.weigh.Store(true)
	for _, p := range []*HomePart{&step.First, &step.Next} {
		sent, received := line.sent.Load(), line.received.Load()
		if err := a.one(ctx); err != nil {
			return err
		}
		*p = HomePart{line.sent.Load() - sent, line.received.Load() - received}
	}
	line.weigh.Store(false)
	theirs := b.server.cpu()
	var answers int
	cost, err := measure(func() (err error) {
		answers, err = a.forSo(ctx, b.cfg.Steady)
		return err
	})
	if err != nil {
		return err
	}
	n := float64(answers)
	step.AloneMillis, step.CPUMillis, step.ServerMillis = millis(cost.Wall)/n, millis(cost.CPU)/n, millis(b.server.cpu()-theirs)/n
	return nil
}

// load asks at a constant rate, then searches the highest that is held.
func (b *homeBench) load(ctx context.Context, t target, step *HomeStep) (err error) {
	if step.Steady, err = t.ask(ctx, b.cfg.Start, b.cfg.Steady); err != nil {
		return err
	}
	s := stairs{First: b.cfg.Start, Most: b.cfg.Most, Finer: b.cfg.Finer, Tries: b.cfg.Tries}
	step.Steps, step.Held, err = s.climb(func(rate int) (LoadStep, error) {
		done, err := t.ask(ctx, rate, b.cfg.Step)
		b.note(fmt.Sprintf("  %d a second: p95 %.0f ms %s", rate, done.P95Millis, done.Why()))
		return done, err
	})
	return err
}

func (b *homeBench) newReport() HomeReport {
	r := HomeReport{
		Sections: ingest.HomeSections, Items: ingest.HomeItems, Products: ingest.HomeProducts, AnswerBytes: len(b.want), RTTMillis: millis(b.cfg.RTT),
		StepSeconds: b.cfg.Step.Seconds(), Database: "mysql", ServerCPU: b.server != nil, Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0),
	}
	if b.db.mine {
		r.Database = "sqlite"
	}
	return r
}

// times gives how many times more b is than a; 0 if that is not known.
func times(a, b float64) float64 {
	if a == 0 || math.IsNaN(a) {
		return 0
	}
	return b / a
}
