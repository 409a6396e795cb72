package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/pool"
	"rowmill/internal/table"
	"rowmill/reservation"
	"rowmill/reservation/reservationhttp"
)

// rung is a set of switches; each rung of the ladder turns one more.
type rung struct {
	name     string
	lazy     bool // a query for each row and relation
	wide     bool // all columns of all parts, whatever is asked
	pageSize int
	fetch    int // pages fetched at once
	encode   int // chunks encoded at once
	window   int
}

// smallPage is the page of the story's first download.
const smallPage = 100

// ladder gives the rungs, the product last. Where the page is not larger than
// the story's, its rung changes nothing.
func (c Config) ladder() []rung {
	r := rung{
		name: "a page after the other, a query per row and relation",
		lazy: true, wide: true, pageSize: min(smallPage, c.PageSize), fetch: 1, encode: 1, window: 1,
	}
	rungs := []rung{r}
	turn := func(name string, change func(r *rung)) {
		r.name = name
		change(&r)
		rungs = append(rungs, r)
	}
	turn(fmt.Sprintf("+ %d pages at once", c.Pool), func(r *rung) { r.fetch, r.window = c.Pool, max(export.DefaultWindow, c.Pool) })
	turn(fmt.Sprintf("+ pages of %d", c.PageSize), func(r *rung) { r.pageSize = c.PageSize })
	turn("+ a query per page and relation (IN)", func(r *rung) { r.lazy = false })
	turn("+ only the asked columns", func(r *rung) { r.wide = false })
	turn(fmt.Sprintf("+ encoding on %d cores: the product", encoders()), func(r *rung) { r.encode = encoders() })
	return rungs
}

// climb runs the rungs, or the last alone, and holds their files against each other.
func (b *bench) climb(ctx context.Context, r *Report) error {
	rungs := b.cfg.ladder()
	for i, rung := range rungs {
		if last := i == len(rungs)-1; !last && !b.cfg.Ladder {
			continue
		}
		step, err := b.repeat(ctx, rung)
		if err != nil {
			return fmt.Errorf("rung %d, %s: %w", i+1, rung.name, err)
		}
		step.Rung = i + 1
		r.Ladder = append(r.Ladder, step)
		if first := r.Ladder[0]; step.SheetSHA256 != first.SheetSHA256 {
			return fmt.Errorf("rung %d wrote other cells than rung %d: %s and %s", step.Rung, first.Rung, step.SheetSHA256, first.SheetSHA256)
		}
	}
	return nil
}

// repeat gives the median of the rung's runs, by wall time.
func (b *bench) repeat(ctx context.Context, r rung) (Step, error) {
	var steps []Step
	for n := range b.cfg.Repeat {
		b.note(fmt.Sprintf("%s (run %d of %d)", r.name, n+1, b.cfg.Repeat))
		step, err := b.step(ctx, r)
		if err != nil {
			return Step{}, err
		}
		if len(steps) > 0 && step.SheetSHA256 != steps[0].SheetSHA256 {
			return Step{}, errors.New("two runs wrote different cells")
		}
		steps = append(steps, step)
	}
	slices.SortFunc(steps, func(a, b Step) int { return int(a.cost.Wall - b.cost.Wall) })
	return steps[len(steps)/2], nil
}

// step makes a file as the rung says, from the snapshot to the published file.
func (b *bench) step(ctx context.Context, r rung) (step Step, err error) {
	store := reservation.Store(b.store)
	if r.lazy {
		store = lazyStore{b.store, b.db.raw}
	}
	const token = "bench"
	server, err := serveAPI(ctx, reservationhttp.NewServer(reservationhttp.Config{Store: store, Token: token}), b.cfg.APIDelay, b.wait)
	if err != nil {
		return Step{}, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	client := reservationhttp.NewClient(reservationhttp.ClientConfig{BaseURL: server.url, Token: token, Timeout: callTimeout})
	defer client.Close()
	dataset := reservationhttp.NewDataset(client, r.pageSize)
	if r.wide {
		dataset.Source = newWideSource(dataset.Source)
	}
	kept := &attempts{}
	runner, err := export.NewRunner(export.Config{
		Datasets: []export.Dataset{dataset}, Attempts: kept, Files: b.files, RowSets: kept, Logger: silent(),
		Fetch: pool.New(r.fetch), Encode: pool.New(r.encode), Window: r.window,
	})
	if err != nil {
		return Step{}, err
	}
	job := export.Job{ID: "bench", Attempt: 1, Status: export.Running, Request: b.request, Scope: inTheClear}
	debug.FreeOSMemory() // or the peak would be of the run before
	sent := b.db.line.sent.Load()
	step = Step{Name: r.name}
	step.PeakBytes, err = peakOf(ctx, func() (err error) {
		step.cost, err = measure(func() error { return runner.Run(ctx, job) })
		return err
	})
	if err != nil {
		return Step{}, err
	}
	step.Statements = b.db.line.sent.Load() - sent
	step.APICalls, step.WireBytes = server.traffic.calls.Load(), server.traffic.bytes.Load()
	step.receipt = kept.receipt
	return step, b.take(ctx, export.FileKey(job), &step)
}

// callTimeout lets a rung be as slow as it is.
const callTimeout = time.Hour

// take notes what the file holds and removes it.
func (b *bench) take(ctx context.Context, key string, step *Step) error {
	if step.receipt.Written != int64(b.cfg.Rows) {
		return fmt.Errorf("%d rows were written, not %d", step.receipt.Written, b.cfg.Rows)
	}
	f, err := b.files.Open(ctx, key)
	if err != nil {
		return err
	}
	step.FileBytes = f.Size()
	step.SheetSHA256, err = sheetsDigest(f, step.receipt.Sheets)
	return errors.Join(err, f.Close(), b.files.Delete(ctx, key))
}

// wideSource reads every stored field of the catalog, whatever is asked, and throws
// away what is not.
type wideSource struct {
	export.Source
	keys []string
	at   map[string]int
}

func newWideSource(source export.Source) wideSource {
	s := wideSource{Source: source, at: map[string]int{}}
	for i, f := range reservation.StoredFields() {
		s.keys = append(s.keys, f.Key)
		s.at[f.Key] = i
	}
	return s
}

// Fetch implements export.Source.
func (s wideSource) Fetch(ctx context.Context, scope access.Scope, t export.PageToken, asked []string) (export.Page, error) {
	page, err := s.Source.Fetch(ctx, scope, t, s.keys)
	if err != nil {
		return export.Page{}, err
	}
	for i, row := range page.Rows {
		values := make([]table.Value, len(asked))
		for c, key := range asked {
			values[c] = row.Values[s.at[key]]
		}
		page.Rows[i].Values = values
	}
	return page, nil
}
