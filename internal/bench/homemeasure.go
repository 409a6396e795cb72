package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"rowmill/home"
	"rowmill/internal/cache"
	"rowmill/repository"
)

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
			shared, err := cache.Connect(b.cfg.RedisURL)
			if err != nil {
				return nil, nil, fmt.Errorf("--redis-url: %w", err)
			}
			s, err := home.New(home.Config{
				Store: store, Redis: shared, Limit: homePatience, Now: func() time.Time { return homeMoment }, Observe: hits.observe,
			})
			if err != nil {
				return nil, nil, errors.Join(err, shared.Close())
			}
			return s, func() error { s.Close(); return shared.Close() }, nil
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
	handler.limit.Store(int64(homePatience))
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
		handler.limit.Store(int64(homeLimit)) // the product's too, whose own is longer here
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
