package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"

	"rowmill/export"
	"rowmill/gateway"
	"rowmill/grants"
	"rowmill/internal/config"
	"rowmill/internal/telemetry"
	"rowmill/repository"
)

func limitsOf(cfg *config.Config) gateway.Limits {
	return gateway.Limits{
		MaxRows: cfg.MaxRows, RatePerSecond: float64(cfg.CallRate), Burst: cfg.CallBurst,
		StreamsPerUser: cfg.UserStreams, TableTimeout: cfg.TableTimeout,
	}
}

func boundsOf(cfg *config.Config) export.Bounds {
	return export.Bounds{Jobs: cfg.QueuedJobs, Rows: cfg.QueuedRows}
}

// linkKey derives the key that signs links to files from a secret that every
// gateway has; without one links end with the process.
func (a *app) linkKey() []byte {
	secret := a.cfg.Token
	if len(a.cfg.SessionKeys) > 0 {
		secret = a.cfg.SessionKeys[0]
	}
	if secret == "" {
		return nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "rowmill file links", sha256.Size)
	if err != nil {
		panic(err) // only of a length that is too great
	}
	return key
}

// newKeeper gives what holds jobs to what their owners may do, where no caller is.
func newKeeper(db *repository.DB, log *slog.Logger) *grants.Keeper {
	return grants.New(grants.Config{Store: repository.NewGrants(db), Jobs: repository.NewJobs(db), Record: grants.Records(repository.NewAudit(db)), Logger: log})
}

type revokeCmd struct {
	databaseFlags `embed:""`

	Subject string `arg:"" help:"The user's subject, as the audit and the jobs name it."`
}

// Run empties the subject's grant. Their waiting and running exports end, and their
// signed links lead nowhere, until they call with permissions again: to keep
// somebody out, take the permissions away where they are given.
func (r revokeCmd) Run(ctx context.Context, s streams) (err error) {
	if r.Subject == "" {
		return errors.New("name the user's subject")
	}
	db, err := r.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ended, err := newKeeper(db, telemetry.NewLogger(s.err, "text", 0)).Empty(ctx, r.Subject)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s has no permissions now; exports ended: %d.\n", r.Subject, ended)
	return err
}
