package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rowmill/internal/config"
	"rowmill/internal/telemetry"
	"rowmill/repository"
)

// databaseFlags say which database a tool works on.
type databaseFlags struct {
	DataDir  string `name:"data-dir" env:"ROWMILL_DATA_DIR" default:"rowmill-data" help:"Where the embedded SQL database lies."`
	MySQLDSN string `name:"mysql-dsn" env:"ROWMILL_MYSQL_DSN" placeholder:"DSN" help:"MySQL or MariaDB, as user:password@tcp(host:port)/database; empty: embedded SQLite."`
}

func (f databaseFlags) open(ctx context.Context, s streams) (*repository.DB, error) {
	log := telemetry.NewLogger(s.err, "text", 0)
	return openDatabase(ctx, &config.Config{DataDir: f.DataDir, MySQLDSN: f.MySQLDSN, SQLConns: 4}, log)
}

type migrateCmd struct {
	databaseFlags `embed:""`
}

func (m migrateCmd) Run(ctx context.Context, s streams) (err error) {
	db, err := m.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "The schema is up to date.")
	return err
}

// sqlitePath makes the data directory and gives the embedded database's file.
func sqlitePath(dataDir string) (string, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	return filepath.Join(dataDir, "rowmill.sqlite"), nil
}
