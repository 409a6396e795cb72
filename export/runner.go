package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/pool"
)

// Config is what a Runner needs.
type Config struct {
	Datasets []Dataset
	Attempts Attempts
	Files    Files
	RowSets  RowSets
	Logger   *slog.Logger
	Measures Measures // nil: sizes are expected by the defaults
	Observer Observer // nil: nobody counts

	// Shared by all jobs: how many pages are read from the sources at once, and how
	// many chunks are encoded.
	Fetch, Encode *pool.Pool
	Window        int // pages of a job that are asked for or wait to be encoded; default 8

	ReportEvery time.Duration // default 500 ms
	Lease       time.Duration // how long a silent worker keeps its job; default 15 s
	Retention   time.Duration // how long a file is kept; default 7 days
	Product     string        // who made the file, for its info sheet; default "Rowmill"
	Now         func() time.Time

	Segments Segments // of big jobs; the zero value: no job is cut
}

// Defaults of a Config.
const (
	DefaultWindow      = 8 // as many as the fetch pool grows to, so that one job alone can use it
	DefaultReportEvery = 500 * time.Millisecond
	DefaultLease       = 15 * time.Second
	DefaultRetention   = 7 * 24 * time.Hour
)

// Validate says what is missing or wrong, all of it.
func (c Config) Validate() error {
	var errs []error
	for _, x := range []struct {
		missing bool
		name    string
	}{{len(c.Datasets) == 0, "Datasets"}, {c.Attempts == nil, "Attempts"}, {c.Files == nil, "Files"}, {c.RowSets == nil, "RowSets"}, {c.Logger == nil, "Logger"}, {c.Fetch == nil, "Fetch"}, {c.Encode == nil, "Encode"}} {
		if x.missing {
			errs = append(errs, fmt.Errorf("export: Config.%s is missing", x.name))
		}
	}
	if c.Lease < 4*c.ReportEvery {
		errs = append(errs, fmt.Errorf("export: Config.Lease %v is too short for a report every %v: at least four reports must fit", c.Lease, c.ReportEvery))
	}
	return errors.Join(append(errs, c.Segments.validate())...)
}

// Runner runs claimed jobs. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	datasets map[string]Dataset

	refusedUntil atomic.Int64 // UnixNano: until then the store is not asked to keep segments for others
	noRoomUntil  atomic.Int64 // UnixNano: until then no job is cut
}

// NewRunner returns a Runner, or what is wrong with the Config.
func NewRunner(c Config) (*Runner, error) {
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.ReportEvery = cmp.Or(c.ReportEvery, DefaultReportEvery)
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	c.Product = cmp.Or(c.Product, "Rowmill")
	c.Segments = c.Segments.withDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &Runner{cfg: c, datasets: map[string]Dataset{}}
	for _, d := range c.Datasets {
		r.datasets[d.Name] = d
	}
	return r, nil
}

// Lease is how long a claim holds before its first report.
func (r *Runner) Lease() time.Duration { return r.cfg.Lease }

// Run makes the file of a job that has been claimed, and publishes it. If it
// returns an error the job is as it was and no file is left; the caller decides
// whether it runs again. ErrFenced means that the job is no longer this attempt's.
// Where the answer to the publishing was lost, the job may have succeeded in spite
// of the error: its fence tells, and its file stays.
func (r *Runner) Run(ctx context.Context, job Job) error {
	fence := Fence{JobID: job.ID, Attempt: job.Attempt}
	ctx, rep := r.startReporter(ctx, fence)
	defer rep.stop()

	a := &attempt{work: work{Runner: r, job: job}, fence: fence, rep: rep, clock: newPhaseClock(r.cfg.Now)}
	key := FileKey(job)
	if err := a.make(ctx, key); err != nil {
		rep.stop()
		if stopped := context.Cause(ctx); stopped != nil && !errors.Is(err, stopped) {
			err = fmt.Errorf("%w (%w)", stopped, err)
		}
		if !a.publishing || errors.Is(err, ErrFenced) {
			r.discard(ctx, key)
		}
		a.endSegments(ctx, err)
		return err
	}
	a.endSegments(ctx, nil)
	return nil
}

// discard removes what an attempt may have stored, also when ctx has ended.
func (r *Runner) discard(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := r.cfg.Files.Delete(ctx, key); err != nil {
		r.cfg.Logger.WarnContext(ctx, "a file of an ended attempt is left to the sweeper", "key", key, "error", err)
	}
}

// FileKey names the file of the job's current attempt. Each attempt has its own,
// so a run that lives on after its fence cannot touch a later one's file.
func FileKey(j Job) string {
	return fmt.Sprintf("exports/%s.%d.%s", j.ID, j.Attempt, j.Request.Format)
}

// JobOfFile gives the id of the job that a file key belongs to.
func JobOfFile(key string) (id string, ok bool) {
	name, ours := strings.CutPrefix(key, "exports/")
	id, _, dotted := strings.Cut(name, ".")
	return id, ours && dotted
}

// plan is a request made concrete: what to read and what file to write.
type plan struct {
	dataset Dataset
	columns []Column
	fields  []string
	at      []int // place of each column's value among the fields
	spec    sheet.Spec
}

// planOf checks the request against the catalog as it is now.
func (r *Runner) planOf(req Request) (plan, error) {
	d, ok := r.datasets[req.Dataset]
	if !ok {
		return plan{}, fault.New(fault.Invalid, "There is no dataset %q.", req.Dataset)
	}
	zone, err := time.LoadLocation(req.TimeZone)
	if err != nil {
		return plan{}, fault.Wrap(err, fault.Invalid, "The time zone %q is not known.", req.TimeZone)
	}
	p := plan{dataset: d, spec: sheet.Spec{Format: req.Format, Name: d.Title(req.Language), Location: zone}}
	for _, key := range req.Columns {
		c, ok := d.Column(key)
		if !ok {
			return plan{}, fault.New(fault.Invalid, "The dataset %s has no column %q any more.", d.Name, key)
		}
		p.columns = append(p.columns, c)
		p.fields, p.at = addFields(p.fields, p.at, c)
		p.spec.Columns = append(p.spec.Columns, c.Sheet(req.Language))
	}
	return p, nil
}
