package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"rowmill/internal/bench"
	"rowmill/internal/config"
)

type benchCmd struct {
	Export benchExport `cmd:"" help:"Measure the export path, each of its stages alone, and the ladder of changes that made it fast."`
	File   benchFile   `cmd:"" help:"Measure the making of a file from rows in memory, or of a TSV file."`
	Coupon benchCoupon `cmd:"" help:"Measure coupon prices: a question for each product and rule, all at once, and computed in parallel."`
	Home   benchHome   `cmd:"" help:"Measure the home board: each section asked for alone, in parallel, in batches, with only what is needed, and cached; under load."`
}

type benchExport struct {
	Rows     int           `name:"rows" default:"20000" help:"Reservations to export."`
	PageSize int           `name:"page-size" default:"1000" help:"Rows asked for at once, from the third rung on."`
	Pool     int           `name:"pool" default:"4" help:"Pages fetched at once, from the second rung on."`
	MySQLDSN string        `name:"mysql-dsn" placeholder:"DSN" help:"An empty MySQL or MariaDB database, or one that a bench has filled; empty: SQLite in a temporary directory."`
	Repeat   int           `name:"repeat" default:"1" help:"Runs: of a rung the median counts, of a stage the mean."`
	RTT      time.Duration `name:"rtt" default:"0s" help:"Delay added to each SQL statement."`
	APIDelay time.Duration `name:"api-delay" default:"0s" help:"Delay added to each call of the reservation API."`
	Stages   bool          `name:"stages" default:"true" negatable:"" help:"Measure each stage alone."`
	Ladder   bool          `name:"ladder" default:"true" negatable:"" help:"Climb the whole ladder; without it, only the product is run."`
	JSON     bool          `name:"json" help:"Write JSON instead of tables."`
	Profile  string        `name:"cpuprofile" type:"path" placeholder:"FILE" help:"Write a CPU profile of what is measured, as the build's default.pgo is made."`
}

func (b benchExport) Run(ctx context.Context, s streams) (err error) {
	if err := asShipped(); err != nil {
		return err
	}
	var profile io.Writer
	if b.Profile != "" {
		f, err := os.Create(b.Profile)
		if err != nil {
			return fmt.Errorf("--cpuprofile: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		profile = f
	}
	report, err := bench.Run(ctx, bench.Config{
		MySQLDSN: b.MySQLDSN, Rows: b.Rows, PageSize: b.PageSize, Pool: b.Pool, Repeat: b.Repeat,
		RTT: b.RTT, APIDelay: b.APIDelay, Stages: b.Stages, Ladder: b.Ladder, Profile: profile,
	}, func(what string) { _, _ = fmt.Fprintln(s.err, what) }) // seen or not, it goes on
	if err != nil {
		return err
	}
	if b.JSON {
		return writeJSON(s.out, report)
	}
	return report.Print(s.out)
}

// asShipped gives the process the runtime settings of one that serves.
func asShipped() error {
	cfg, err := config.Defaults()
	if err != nil {
		return err
	}
	debug.SetGCPercent(cfg.GCPercent)
	return nil
}

type benchFile struct {
	Rows    int    `name:"rows" help:"Rows to make up; with --tsv, the most rows to read."`
	Columns int    `name:"columns" default:"20" help:"Columns of the file, the first of 20."`
	Out     string `name:"out" short:"o" type:"path" placeholder:"FILE" help:"The Excel file to write; empty: a temporary one, removed at the end."`
	TSV     string `name:"tsv" type:"existingfile" placeholder:"FILE" help:"Read the rows from this file: 20 fields a line, as MySQL writes them with SELECT ... INTO OUTFILE."`
	Alone   bool   `name:"alone" default:"true" negatable:"" help:"Make or read the rows once more without a file, to know what to subtract."`
	JSON    bool   `name:"json" help:"Write JSON instead of a table."`
}

func (b benchFile) Run(ctx context.Context, s streams) error {
	if err := asShipped(); err != nil {
		return err
	}
	report, err := bench.File(ctx, bench.FileConfig{Rows: b.Rows, Columns: b.Columns, Out: b.Out, TSV: b.TSV, Alone: b.Alone})
	if err != nil {
		return err
	}
	if b.JSON {
		return writeJSON(s.out, report)
	}
	return report.Print(s.out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
