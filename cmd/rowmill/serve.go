package main

import (
	"context"

	"rowmill/internal/config"
	"rowmill/internal/telemetry"
	"rowmill/jobs"
)

type serveCmd struct {
	config.Config `embed:""`
}

func (s *serveCmd) Run(ctx context.Context, out streams, noted *config.Errors) error {
	cfg := &s.Config
	if err := noted.Join(cfg.Check()); err != nil {
		return configError{err}
	}
	log := telemetry.NewLogger(out.err, cfg.LogFormat, cfg.Level())
	jobs.LogRedis(log)
	a, err := newApp(ctx, cfg, log)
	if err != nil {
		return err
	}
	return a.run(ctx)
}

// configError is a wrong configuration: everything that is wrong, a line each.
type configError struct{ error }

func (e configError) Error() string { return "the configuration is not valid:\n" + e.error.Error() }
func (e configError) Unwrap() error { return e.error }
