package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rowmill/coupon"
	"rowmill/export"
	"rowmill/gateway"
	"rowmill/grants"
	"rowmill/internal/blob"
	"rowmill/internal/config"
	"rowmill/internal/embedded"
	"rowmill/internal/metrics"
	"rowmill/internal/telemetry"
	"rowmill/jobs"
	"rowmill/repository"
	"rowmill/reservation/reservationhttp"
)

// app is a process with its roles wired up and its listeners open. The end-to-end
// tests boot the very same.
type app struct {
	cfg *config.Config
	log *slog.Logger

	db    *repository.DB
	jobs  *repository.Jobs
	holds *grants.Keeper // jobs to what their owners may do
	files *blob.Store
	queue *jobs.Queue

	metrics *metrics.Metrics
	tracer  *telemetry.Tracer           // nil: nothing is recorded
	worker  atomic.Pointer[jobs.Worker] // once it runs

	redisURL string
	client   *reservationhttp.Client
	now      func() time.Time // of the worker and its sweeper; nil: time.Now

	gateway, reservations, admin *server
	closers                      []func() error // run last to first
}

// newApp opens what the process needs and listens; run starts the work. What it
// opened is closed if it fails.
func newApp(ctx context.Context, cfg *config.Config, log *slog.Logger) (*app, error) {
	debug.SetGCPercent(cfg.GCPercent)
	a := &app{cfg: cfg, log: log}
	for _, open := range []func(context.Context) error{a.openTelemetry, a.openStores, a.openQueue, a.openReservations, a.openGateway, a.openAdmin} {
		if err := open(ctx); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	return a, nil
}

func (a *app) onClose(f func() error) { a.closers = append(a.closers, f) }

func (a *app) close() error {
	var errs []error
	for _, f := range slices.Backward(a.closers) {
		errs = append(errs, f())
	}
	a.closers = nil
	return errors.Join(errs...)
}

func openDatabase(ctx context.Context, cfg *config.Config, log *slog.Logger) (*repository.DB, error) {
	c := repository.Config{DSN: cfg.MySQLDSN, MaxOpenConns: cfg.SQLConns, Logger: log}
	if cfg.MySQLDSN == "" {
		path, err := sqlitePath(cfg.DataDir)
		if err != nil {
			return nil, err
		}
		c.Path = path
	}
	return repository.Open(ctx, c)
}

// openStores opens the SQL database and the file store. An embedded database is
// migrated at once; a shared one is the operator's to migrate.
func (a *app) openStores(ctx context.Context) (err error) {
	if a.db, err = openDatabase(ctx, a.cfg, a.log); err != nil {
		return err
	}
	a.onClose(a.db.Close)
	if a.cfg.MySQLDSN == "" {
		if err := a.db.Migrate(ctx); err != nil {
			return err
		}
	}
	if !a.cfg.Exports() {
		return nil
	}
	a.jobs = repository.NewJobs(a.db)
	a.holds = newKeeper(a.db, a.log)
	if a.files, err = openFiles(ctx, a.cfg); err != nil {
		return err
	}
	a.onClose(a.files.Close)
	return nil
}

// openFiles opens the file store: the data directory's, unless another is named.
func openFiles(ctx context.Context, cfg *config.Config) (*blob.Store, error) {
	at := cfg.BlobURL
	if at == "" {
		var err error
		if at, err = blob.DirectoryURL(filepath.Join(cfg.DataDir, "files")); err != nil {
			return nil, err
		}
	}
	return blob.Open(ctx, at)
}

func (a *app) openQueue(context.Context) (err error) {
	a.redisURL = a.cfg.RedisURL
	if !a.cfg.Exports() {
		return nil
	}
	if a.redisURL == "" {
		redis, err := embedded.StartRedis()
		if err != nil {
			return err
		}
		a.onClose(redis.Close)
		a.redisURL = redis.URL()
	}
	if a.queue, err = jobs.NewQueue(a.redisURL); err != nil {
		return err
	}
	a.onClose(a.queue.Close)
	return nil
}

// openReservations listens for the internal API if the process plays it, and
// makes the client of it, here or elsewhere.
func (a *app) openReservations(ctx context.Context) (err error) {
	token, base := a.cfg.ServiceToken, a.cfg.ReservationsURL
	if token == "" {
		token = rand.Text()
	}
	if a.cfg.Plays(config.Reservations) {
		prices, err := a.couponPrices()
		if err != nil {
			return err
		}
		h := reservationhttp.NewServer(reservationhttp.Config{
			Store: coupon.NewColumns(repository.NewReservations(a.db), prices), Coupons: prices, Token: token,
			Capacity: reservationhttp.Capacity{Pages: a.cfg.APIPages, Snapshots: a.cfg.APISnapshots, Reads: a.cfg.APIReads},
			Logger:   a.log, Tracer: a.tracer, Answered: a.metrics.Request, PageStatements: a.metrics.PageStatements, OnShed: a.metrics.Shed,
		})
		if a.reservations, err = a.listen(ctx, "reservation API", a.cfg.ReservationsAddr, bounded(h)); err != nil {
			return err
		}
		a.onClose(a.reservations.closeUnused)
		if base == "" {
			base = a.reservations.url()
		}
	}
	a.client = reservationhttp.NewClient(reservationhttp.ClientConfig{BaseURL: base, Token: token, Timeout: a.cfg.APITimeout, Logger: a.log, Called: a.metrics.APICalled})
	a.onClose(func() error { a.client.Close(); return nil })
	return nil
}

func (a *app) dataset() export.Dataset { return reservationhttp.NewDataset(a.client, a.cfg.PageSize) }

func (a *app) openGateway(ctx context.Context) error {
	if !a.cfg.Plays(config.Gateway) {
		return nil
	}
	callers, events, err := a.openSignIn(ctx)
	if err != nil {
		return err
	}
	board, err := a.openHome()
	if err != nil {
		return err
	}
	pages, err := a.pages(events, board)
	if err != nil {
		return err
	}
	h, err := gateway.New(gateway.Config{ //nolint:contextcheck // a call is refused in its own context
		Pages: pages, Home: board, Grants: repository.NewGrants(a.db), Live: a.jobs, Limits: limitsOf(a.cfg), LinkKey: a.linkKey(),
		Jobs: a.jobs.Limited(a.cfg.MaxUserJobs).Bounded(boundsOf(a.cfg)), Board: a.jobs, Queue: a.queue, Files: a.files,
		Reservations: a.client.Impatient(), Datasets: []export.Dataset{a.dataset()},
		Audit: repository.NewAudit(a.db), AuditLog: repository.NewAudit(a.db), Takers: repository.NewRowSets(a.db),

		Identity: callers, SignIn: callers, Development: a.cfg.DevelopmentSignIn(),
		BaseURL: a.cfg.BaseURL, AllowedOrigins: a.cfg.AllowedOrigins, TrustedProxies: a.cfg.Proxies(),
		SmallRows: a.cfg.SmallRows, Retention: a.cfg.Retention, DefaultTimeZone: a.cfg.TimeZone, DefaultLanguage: a.cfg.Language,

		Checks: a.checks(), Logger: a.log, Tracer: a.tracer, Answered: a.metrics.Request, Refused: a.metrics.OrderRefused,
	})
	if err != nil {
		return err
	}
	events.gateway = h
	if a.gateway, err = a.listen(ctx, "gateway", a.cfg.GatewayAddr, h.HTTPServer(a.cfg.GatewayAddr)); err != nil {
		return err
	}
	a.onClose(a.gateway.closeUnused)
	return nil
}

// checks are what readiness asks, by the dependency's name.
func (a *app) checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{"sql": a.db.Ping, "schema": a.db.Migrated}
	if a.cfg.Exports() {
		checks["redis"], checks["files"] = a.queue.Ping, a.files.Ping
	}
	return checks
}

// run works until ctx ends, then drains: first the gateway and the workers, then
// the reservation API that they need, last the stores.
func (a *app) run(ctx context.Context) error {
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	front, frontCtx := errgroup.WithContext(ctx)
	back, backCtx := errgroup.WithContext(inner)
	if a.reservations != nil {
		back.Go(func() error { return a.reservations.run(backCtx) })
	}
	if a.admin != nil {
		back.Go(func() error { return a.admin.run(backCtx) })
	}
	front.Go(func() error { // what the others stand on has failed
		select {
		case <-backCtx.Done():
			return context.Cause(backCtx)
		case <-frontCtx.Done():
			return nil
		}
	})
	if a.gateway != nil {
		front.Go(func() error { return a.gateway.run(frontCtx) })
	}
	if a.cfg.Plays(config.Worker) {
		if err := a.startWorker(frontCtx, front); err != nil {
			return errors.Join(err, a.close())
		}
	}
	err := front.Wait()
	stopInner()
	return errors.Join(err, back.Wait(), a.close())
}
