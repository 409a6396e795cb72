package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rowmill/ingest"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/repository"
	"rowmill/sample"
)

type demoCmd struct {
	DataDir     string `name:"data-dir" help:"Where to keep the embedded database and files; empty: a temporary directory, removed at the end."`
	Out         string `name:"out" short:"o" default:"reservations.xlsx" help:"The Excel file to write."`
	Exit        bool   `name:"exit" help:"End once the file is written, instead of serving on."`
	GatewayAddr string `name:"gateway-addr" default:"127.0.0.1:8080" help:"Where the public API listens; if it is taken, a free port is."`
	TimeZone    string `name:"time-zone" default:"Asia/Seoul" help:"Time zone of the file's times."`
	Language    string `name:"language" default:"en" help:"Language of the file's titles: en or ko."`
}

// Run is the whole product in one process: import, export through the gateway's
// HTTP API, download, receipt.
func (d demoCmd) Run(ctx context.Context, s streams) (err error) {
	dir, remove, err := d.directory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	cfg, err := demoConfig(ctx, dir, d)
	if err != nil {
		return err
	}
	a, err := newApp(ctx, cfg, telemetry.NewLogger(s.err, cfg.LogFormat, cfg.Level()))
	if err != nil {
		return err
	}
	if err := d.importSample(ctx, s, a); err != nil {
		return errors.Join(err, a.close())
	}

	// Ctrl-C first ends the export, which cancels its job while there is a gateway to tell.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served := make(chan error, 1)
	go func() { served <- a.run(serving) }()
	asking, ask := context.WithCancel(ctx)
	defer ask()
	exported := make(chan error, 1)
	go func() { exported <- d.export(asking, s, a) }()
	select {
	case err = <-served: // a role has ended
		ask()
		return errors.Join(err, <-exported)
	case err = <-exported:
	}
	if err != nil || d.Exit {
		stop()
		return errors.Join(err, <-served)
	}
	_, _ = fmt.Fprintf(s.out, "\nServing at %s with the token in %s. Ctrl-C ends it.\n", a.gateway.url(), filepath.Join(dir, tokenFile)) // seen or not, it serves
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
		stop()
		return <-served
	}
}

func (d demoCmd) directory() (dir string, remove func() error, err error) {
	if d.DataDir != "" {
		return d.DataDir, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "rowmill-demo-*")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// demoConfig is the embedded default on free ports.
func demoConfig(ctx context.Context, dir string, d demoCmd) (*config.Config, error) {
	cfg, err := config.Defaults()
	if err != nil {
		return nil, err
	}
	cfg.DataDir, cfg.GatewayAddr, cfg.ReservationsAddr = dir, freeAddr(ctx, d.GatewayAddr), "127.0.0.1:0"
	cfg.TimeZone, cfg.Language, cfg.LogLevel = d.TimeZone, d.Language, "warn"
	return cfg, cfg.Check()
}

// importSample loads the sample; a data directory that has it already is used as it is.
func (d demoCmd) importSample(ctx context.Context, s streams, a *app) error {
	err := loadInto(ctx, s, repository.NewLoader(a.db), ingest.HotelBookings(sample.HotelBookings()), sample.Rows)
	if fault.KindOf(err) == fault.Conflict {
		_, err = io.WriteString(s.out, "the data directory holds reservations already: they are used\n")
	}
	return err
}

func (d demoCmd) export(ctx context.Context, s streams, a *app) error {
	c := exportclient.New(a.gateway.url(), a.cfg.Token)
	job, err := fetchFile(ctx, s, c, exportclient.Order{Dataset: "reservations", Format: "xlsx", Language: d.Language, TimeZone: d.TimeZone,
		Personal: true, Reason: "demonstration"}, "", d.Out)
	if err != nil {
		return err
	}
	if r := job.Receipt; r.Written != r.Expected {
		return fmt.Errorf("the file holds %d rows of %d", r.Written, r.Expected)
	}
	return nil
}
