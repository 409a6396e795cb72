package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

type exportCmd struct {
	Gateway string `name:"gateway" env:"ROWMILL_GATEWAY_URL" default:"http://127.0.0.1:8080" help:"The gateway's address."`
	Token   string `name:"token" env:"ROWMILL_TOKEN" placeholder:"SECRET" help:"Bearer token; empty: the file token in the data directory."`
	DataDir string `name:"data-dir" env:"ROWMILL_DATA_DIR" default:"rowmill-data" help:"Where an embedded gateway keeps its token."`

	Filter   []string `name:"filter" sep:"none" placeholder:"FIELD=VALUE" help:"Rows to export, as in the list: status=Canceled, check_in_gte=2016-01-01, guest_name_like=Kim; repeat for more."`
	Sort     string   `name:"sort" help:"Field to order by."`
	Desc     bool     `name:"desc" help:"Order downwards."`
	Columns  []string `name:"columns" placeholder:"KEY" help:"Columns in order; empty: the list's."`
	Format   string   `name:"format" default:"xlsx" help:"xlsx or csv."`
	Language string   `name:"language" help:"Language of the titles: en or ko."`
	TimeZone string   `name:"time-zone" help:"IANA time zone of times."`
	Personal bool     `name:"personal" help:"Personal data in the clear instead of masked; needs the permission and a --reason."`
	Reason   string   `name:"reason" placeholder:"TEXT" help:"Why personal data are taken out; the file and the audit tell it."`
	Out      string   `name:"out" short:"o" help:"File to write; default reservations.xlsx or .csv."`
	Resume   string   `name:"resume" placeholder:"JOB" help:"Download the file of this job instead of asking for a new one; takes up a broken download."`
}

func (e exportCmd) Run(ctx context.Context, s streams) error {
	token := e.Token
	if token == "" {
		var err error
		if token, err = readToken(filepath.Join(e.DataDir, tokenFile)); err != nil {
			return fmt.Errorf("no token: set ROWMILL_TOKEN or --token, or name an embedded gateway's --data-dir (%w)", err)
		}
	}
	order, err := e.order()
	if err != nil {
		return err
	}
	out := e.Out
	if out == "" {
		out = "reservations." + e.Format
	}
	c := exportclient.New(e.Gateway, token)
	_, err = fetchFile(ctx, s, c, order, e.Resume, out)
	return err
}

func (e exportCmd) order() (exportclient.Order, error) {
	o := exportclient.Order{Format: e.Format, Sort: e.Sort, Columns: e.Columns, Language: e.Language, TimeZone: e.TimeZone,
		Personal: e.Personal, Reason: e.Reason, Filter: map[string][]string{}}
	if e.Desc {
		o.Order = "desc"
	}
	for _, f := range e.Filter {
		name, value, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return o, fmt.Errorf("--filter: %q is not FIELD=VALUE", f)
		}
		o.Filter[name] = append(o.Filter[name], value)
	}
	return o, nil
}

// fetchFile asks for a file, or takes up the job resume, shows its progress and
// downloads it. If ctx ends before the job has, the job is canceled.
func fetchFile(ctx context.Context, s streams, c *exportclient.Client, o exportclient.Order, resume, out string) (exportclient.Job, error) {
	job := exportclient.Job{ID: resume}
	if resume == "" {
		var err error
		if job, err = c.Submit(ctx, o, rand.Text()); err != nil {
			return job, fmt.Errorf("ask for the export: %w", err)
		}
		_, _ = fmt.Fprintf(s.err, "job %s\n", job.ID) // progress is no result
	}
	job, err := follow(ctx, s, c, url.PathEscape(job.ID))
	if err != nil {
		return job, err
	}
	if err := c.Download(ctx, job, out); err != nil {
		return job, fmt.Errorf("%w\nTake it up again with: rowmill export --resume %s --out %s", err, job.ID, out)
	}
	return job, printReceipt(s.out, out, *job.Receipt)
}

const followEvery = 150 * time.Millisecond

func follow(ctx context.Context, s streams, c *exportclient.Client, id string) (exportclient.Job, error) {
	bar, noticed := newProgress(s.err, "export", -1), ""
	job, err := c.Follow(ctx, id, followEvery, func(j exportclient.Job) {
		if j.Notice != nil && j.Notice.Message != noticed {
			noticed = j.Notice.Message
			_, _ = fmt.Fprintln(s.err, noticed) // progress is no result
		}
		if j.Status == export.Running && j.RowsExpected > 0 {
			bar.expect(j.RowsExpected)
			bar.set(j.RowsWritten)
		}
	})
	if err != nil {
		bar.abandon()
		if ctx.Err() != nil {
			return job, cancelJob(ctx, c, id, err)
		}
		return job, fmt.Errorf("follow job %s: %w", id, err)
	}
	switch {
	case job.Status == export.Succeeded && job.Receipt != nil:
		bar.expect(job.Receipt.Expected)
		bar.finish(job.Receipt.Written)
		return job, nil
	case job.Failure != nil && job.Status == export.Failed:
		return job, fmt.Errorf("job %s failed: %s", id, job.Failure.Message)
	}
	return job, fmt.Errorf("job %s is %s: there is no file", id, job.Status)
}

// cancelJob ends the job of a user who has left, and with them ctx.
func cancelJob(ctx context.Context, c *exportclient.Client, id string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := c.Cancel(ctx, id); err != nil {
		return errors.Join(cause, fmt.Errorf("cancel job %s: %w", id, err))
	}
	return fmt.Errorf("interrupted: job %s is canceled", id)
}
