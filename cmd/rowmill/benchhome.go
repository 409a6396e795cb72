package main

import (
	"context"
	"fmt"
	"time"

	"rowmill/internal/bench"
)

type benchHome struct {
	MySQLDSN string        `name:"mysql-dsn" placeholder:"DSN" help:"An empty MySQL or MariaDB database, or one that a bench has filled; empty: SQLite in a temporary directory."`
	RedisURL string        `name:"redis-url" placeholder:"URL" help:"The Redis that the cache shares; empty: one inside this process."`
	Load     bool          `name:"load" default:"true" negatable:"" help:"Search the rate that each rung holds; without it, only what an answer costs is measured."`
	Start    int           `name:"start" default:"5" help:"Questions a second at the constant rate, and of the first step; each step doubles it."`
	Most     int           `name:"most" default:"20480" help:"Questions a second after which no step follows."`
	Steady   time.Duration `name:"steady" default:"4s" help:"How long each rung is asked one after the other, and at the constant rate."`
	Step     time.Duration `name:"step" default:"3s" help:"How long a step lasts."`
	Finer    int           `name:"finer" default:"5" help:"Steps between the last that was held and the first that was not."`
	Tries    int           `name:"tries" default:"2" help:"Tries of a step before it counts as not held."`
	Parallel int           `name:"parallel" default:"8" help:"Sections read at once, in the second rung."`
	RTT      time.Duration `name:"rtt" default:"0s" help:"Delay added to each SQL statement."`
	JSON     bool          `name:"json" help:"Write JSON instead of Markdown."`
}

func (b benchHome) Run(ctx context.Context, s streams) error {
	if err := asShipped(); err != nil {
		return err
	}
	report, err := bench.Home(ctx, bench.HomeConfig{
		MySQLDSN: b.MySQLDSN, RedisURL: b.RedisURL, Load: b.Load, Start: b.Start, Most: b.Most, Steady: b.Steady, Step: b.Step,
		Finer: b.Finer, Tries: b.Tries, Parallel: b.Parallel, RTT: b.RTT,
	}, func(what string) { _, _ = fmt.Fprintln(s.err, what) }) // seen or not, it goes on
	if err != nil {
		return err
	}
	if b.JSON {
		return writeJSON(s.out, report)
	}
	return report.Print(s.out)
}
