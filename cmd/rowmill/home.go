package main

import (
	"context"
	"fmt"
	"time"

	"rowmill/home"
	"rowmill/ingest"
	"rowmill/internal/cache"
	"rowmill/internal/fault"
	"rowmill/jobs"
	"rowmill/repository"
)

// openHome makes the home board. A process whose Redis is its own has nobody to share
// copies with.
func (a *app) openHome() (*home.Service, error) {
	location, err := time.LoadLocation(a.cfg.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the home board: %w", err)
	}
	var shared cache.Client
	if a.cfg.RedisURL != "" {
		if shared, err = jobs.OpenRedis(a.cfg.RedisURL, homeRedisTimeout); err != nil {
			return nil, err
		}
		a.onClose(shared.Close)
	}
	store := repository.NewHome(a.db)
	board, err := home.New(home.Config{
		Store: store, Editor: store, Redis: shared, FirstTTL: a.cfg.HomeL1TTL, SecondTTL: a.cfg.HomeL2TTL,
		Location: location, Observe: func(e cache.Event) { a.metrics.CacheEvent(e.String()) }, Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(func() error { board.Close(); return nil })
	return board, nil
}

// homeRedisTimeout bounds what the cache's own limit of a call does not, as a dial.
const homeRedisTimeout = time.Second

// boardStore is where an import goes.
type boardStore interface {
	ingest.Store
	LoadHome(ctx context.Context, board ingest.Home) error
}

// boardSeed makes the same board of the same reservations on the same day.
const boardSeed = 1

// loadHome makes up a home board of the products that were met. It begins on the day
// before, which is still today west of here. A board that is there already stays.
func loadHome(ctx context.Context, s streams, store boardStore, src *ingest.Source) error {
	board, err := ingest.HomeBoard(src.Lookups(), time.Now().AddDate(0, 0, -1), boardSeed)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("made up a home board of %d sections\n", len(board.Sections))
	err = store.LoadHome(ctx, board)
	if fault.KindOf(err) == fault.Conflict && err != nil {
		said, err = "the database has a home board already: it stays\n", nil
	}
	if err == nil {
		_, err = fmt.Fprint(s.out, said)
	}
	return err
}
