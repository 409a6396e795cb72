// Rowmill turns the rows that a backoffice lists into Excel files that a person
// can trust. This binary plays every part: the gateway, the workers and the
// internal reservation API, the tools around them, and a demo of all at once.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones on machines without zone files

	"github.com/alecthomas/kong"

	"rowmill/internal/config"
)

// version is set by the build.
var version = "development"

type cli struct {
	Version kong.VersionFlag `help:"Print the version and end."`

	Demo    demoCmd    `cmd:"" help:"Run everything in this process on real sample data and export it to an Excel file."`
	Serve   serveCmd   `cmd:"" help:"Serve one or more roles: gateway, worker, reservations."`
	Migrate migrateCmd `cmd:"" help:"Bring the SQL schema up to date."`
	Import  importCmd  `cmd:"" help:"Load reservations into an empty database."`
	Export  exportCmd  `cmd:"" help:"Ask a running gateway for a file and download it."`
	Bench   benchCmd   `cmd:"" help:"Measure how fast exports are, on this machine."`
	Revoke  revokeCmd  `cmd:"" help:"Take every permission from a user and end their exports, until they call again."`
	Health  healthCmd  `cmd:"" help:"Ask a process's admin address whether it is ready; for health checks."`
}

// streams are where a command writes.
type streams struct {
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run parses the arguments, runs the command until it ends or ctx does, and
// gives the exit status: 0 for success, 1 for a failure, 2 for a wrong call.
func run(ctx context.Context, args []string, s streams) int {
	var c cli
	var noted config.Errors
	exit := -1
	options := append(noted.Options(),
		kong.Name("rowmill"),
		kong.Description("Excel files of reservations, every row once and exact."),
		kong.Vars{"version": version},
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s, &noted),
	)
	parser, err := kong.New(&c, options...)
	if err != nil {
		panic(err) // the command tree is wrong, whatever the arguments
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // --help has been answered
		return exit
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.err, "rowmill: %v\nrowmill --help shows the commands and their flags.\n", err)
		return 2
	}
	if parsed.Command() != "serve" { // which tells them with what else is wrong
		if err := noted.Join(nil); err != nil {
			_, _ = fmt.Fprintf(s.err, "rowmill: %v\n", err)
			return 2
		}
	}
	if err := parsed.Run(); err != nil {
		_, _ = fmt.Fprintf(s.err, "rowmill: %v\n", err)
		return 1
	}
	return 0
}
