// Package config is what can be set of a process that serves, from flags and
// ROWMILL_* variables, with its defaults and its bounds. The tools' own flags stand
// with their commands; no other package reads the environment, but that the AWS
// SDK finds its credentials there, and OpenTelemetry's its collector (OTEL_*).
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Role is a part of the system that a process can play.
type Role string

const (
	Gateway      Role = "gateway"
	Worker       Role = "worker"
	Reservations Role = "reservations"
)

// Config is the configuration of a process. A flag wins over its variable.
type Config struct {
	Roles []string `name:"roles" env:"ROWMILL_ROLES" default:"gateway,worker,reservations" sep:"," help:"Parts this process plays: gateway, worker, reservations."`

	GatewayAddr      string   `name:"gateway-addr" env:"ROWMILL_GATEWAY_ADDR" default:"127.0.0.1:8080" help:"Where the public API listens; port 0 takes a free one."`
	ReservationsAddr string   `name:"reservations-addr" env:"ROWMILL_RESERVATIONS_ADDR" default:"127.0.0.1:8081" help:"Where the internal reservation API listens. Not for the public."`
	ReservationsURL  string   `name:"reservations-url" env:"ROWMILL_RESERVATIONS_URL" help:"Where the internal reservation API is found; empty: in this process."`
	AdminAddr        string   `name:"admin-addr" env:"ROWMILL_ADMIN_ADDR" help:"Where /livez, /readyz, /metrics and /debug/pprof of this process listen, whatever its roles; empty: nowhere. Not for the public."`
	BaseURL          string   `name:"base-url" env:"ROWMILL_BASE_URL" help:"The gateway's address as its users see it, put before the links it gives; empty: links are paths."`
	AllowedOrigins   []string `name:"allowed-origins" env:"ROWMILL_ALLOWED_ORIGINS" sep:"," placeholder:"ORIGIN" help:"Origins whose pages may call the public API from a browser, like https://backoffice.example; empty: none."`

	TrustedProxies []string      `name:"trusted-proxies" env:"ROWMILL_TRUSTED_PROXIES" sep:"," placeholder:"CIDR" help:"Networks of the proxies in front of the gateway, like 10.0.0.0/8, whose X-Forwarded-For says who calls; empty: the peer is the caller."`
	AuditRetention time.Duration `name:"audit-retention" env:"ROWMILL_AUDIT_RETENTION" default:"17520h" help:"How long it is kept who took what out, and which rows."`

	DataDir  string `name:"data-dir" env:"ROWMILL_DATA_DIR" default:"rowmill-data" help:"Where the embedded SQL database and files lie."`
	MySQLDSN string `name:"mysql-dsn" env:"ROWMILL_MYSQL_DSN" placeholder:"DSN" help:"MySQL or MariaDB, as user:password@tcp(host:port)/database; empty: embedded SQLite."`
	RedisURL string `name:"redis-url" env:"ROWMILL_REDIS_URL" placeholder:"URL" help:"Redis, as redis://[user:password@]host:port[/db]; empty: embedded, or, of a process that plays reservations alone, none: it then has no coupon prices."`
	BlobURL  string `name:"blob-url" env:"ROWMILL_BLOB_URL" placeholder:"URL" help:"Where files go: file:///dir or s3://bucket?region=R&endpoint=URL&use_path_style=true; empty: the data directory."`

	Token        string `name:"token" env:"ROWMILL_TOKEN" placeholder:"SECRET" help:"Bearer token of the public API, at least 16 characters; empty, with everything embedded: a random one in the data directory's file token."`
	ServiceToken string `name:"service-token" env:"ROWMILL_SERVICE_TOKEN" placeholder:"SECRET" help:"Bearer token between gateway, workers and the reservation API; empty, with all roles in this process: a random one."`

	Identity `embed:""`

	PageSize     int           `name:"page-size" env:"ROWMILL_PAGE_SIZE" default:"1000" help:"Rows a worker asks for at once, 1 to 5000."`
	FetchMin     int           `name:"fetch-min" env:"ROWMILL_FETCH_MIN" default:"1" help:"Pages fetched at once by this process, over all its jobs, when the reservation API is slow."`
	FetchSlots   int           `name:"fetch-slots" env:"ROWMILL_FETCH_SLOTS" default:"4" help:"Pages fetched at once to begin with; then it follows the API's latency."`
	FetchMax     int           `name:"fetch-max" env:"ROWMILL_FETCH_MAX" default:"8" help:"Pages fetched at once when the API bears it."`
	EncodeSlots  int           `name:"encode-slots" env:"ROWMILL_ENCODE_SLOTS" default:"0" help:"Pages encoded at once by this process; 0: one a core."`
	Window       int           `name:"window" env:"ROWMILL_WINDOW" default:"8" help:"Pages a job fetches ahead of those that are encoded."`
	GCPercent    int           `name:"gc-percent" env:"ROWMILL_GC_PERCENT" default:"150" help:"Garbage collector's target, as GOGC: more is faster and takes more memory."`
	SmallSlots   int           `name:"small-slots" env:"ROWMILL_SMALL_SLOTS" default:"2" help:"Small jobs that run at once whatever the large ones do."`
	SharedSlots  int           `name:"shared-slots" env:"ROWMILL_SHARED_SLOTS" default:"2" help:"Jobs of either size that run at once beside them."`
	SmallRows    int64         `name:"small-rows" env:"ROWMILL_SMALL_ROWS" default:"20000" help:"Rows up to which a job is small."`
	ResumeRows   int64         `name:"resume-rows" env:"ROWMILL_RESUME_ROWS" default:"250000" help:"Rows from which on an export keeps what it has made, so that another attempt goes on with it; 0: never."`
	SpreadRows   int64         `name:"spread-rows" env:"ROWMILL_SPREAD_ROWS" default:"500000" help:"Rows from which on other workers help with an export; needs --resume-rows; 0: never."`
	SegmentSlots int           `name:"segment-slots" env:"ROWMILL_SEGMENT_SLOTS" default:"2" help:"Segments of big exports that this worker makes at once, for whichever worker asks."`
	MaxUserJobs  int           `name:"max-jobs-per-user" env:"ROWMILL_MAX_JOBS_PER_USER" default:"5" help:"Exports of one user that may wait or run at once; 0: no bound."`
	MaxRows      int64         `name:"max-rows" env:"ROWMILL_MAX_ROWS" default:"0" help:"Most rows of one export, whoever asks; 0: no bound."`
	QueuedJobs   int64         `name:"max-queued-jobs" env:"ROWMILL_MAX_QUEUED_JOBS" default:"20000" help:"Exports of all users that may wait or run at once; 0: no bound."`
	QueuedRows   int64         `name:"max-queued-rows" env:"ROWMILL_MAX_QUEUED_ROWS" default:"50000000" help:"Rows of all exports that wait or run, as estimated; 0: no bound."`
	CallRate     int           `name:"rate-per-second" env:"ROWMILL_RATE_PER_SECOND" default:"20" help:"Calls a second that a user may make in the long run; 0: no bound."`
	CallBurst    int           `name:"rate-burst" env:"ROWMILL_RATE_BURST" default:"60" help:"Calls that a user may make at once."`
	UserStreams  int           `name:"streams-per-user" env:"ROWMILL_STREAMS_PER_USER" default:"20" help:"Event streams that a user may have open; 0: no bound."`
	TableTimeout time.Duration `name:"table-timeout" env:"ROWMILL_TABLE_TIMEOUT" default:"5s" help:"Limit of one call of the job table for a user who waits."`
	JobTimeout   time.Duration `name:"job-timeout" env:"ROWMILL_JOB_TIMEOUT" default:"2h" help:"Limit of one attempt of a job."`
	MaxFailures  int           `name:"max-failures" env:"ROWMILL_MAX_FAILURES" default:"5" help:"Attempts of a job that may fail before the job has failed."`
	Lease        time.Duration `name:"lease" env:"ROWMILL_LEASE" default:"15s" help:"How long a silent worker keeps its job."`
	ReportEvery  time.Duration `name:"report-every" env:"ROWMILL_REPORT_EVERY" default:"500ms" help:"Pace at which a running job writes down its progress and learns that it was canceled."`
	SweepEvery   time.Duration `name:"sweep-every" env:"ROWMILL_SWEEP_EVERY" default:"5s" help:"Pace at which lost jobs and messages are looked for."`
	FilesEvery   time.Duration `name:"files-every" env:"ROWMILL_FILES_EVERY" default:"10m" help:"Pace at which files without a job are looked for."`
	FilesAge     time.Duration `name:"files-age" env:"ROWMILL_FILES_AGE" default:"1h" help:"How old a file without a job must be to be removed."`
	Retention    time.Duration `name:"retention" env:"ROWMILL_RETENTION" default:"168h" help:"How long a file is kept."`
	APITimeout   time.Duration `name:"api-timeout" env:"ROWMILL_API_TIMEOUT" default:"30s" help:"Limit of one call of the reservation API."`
	APIPages     int           `name:"api-max-pages" env:"ROWMILL_API_MAX_PAGES" default:"64" help:"Pages that the reservation API reads at once; more wait or are turned away."`
	APISnapshots int           `name:"api-max-snapshots" env:"ROWMILL_API_MAX_SNAPSHOTS" default:"16" help:"Snapshots that the reservation API streams at once."`
	APIReads     int           `name:"api-max-reads" env:"ROWMILL_API_MAX_READS" default:"64" help:"Lists, counts, single rows and questions for coupon prices that the reservation API answers at once."`
	SQLConns     int           `name:"sql-conns" env:"ROWMILL_SQL_CONNS" default:"16" help:"Most connections to the SQL database."`
	HomeL1TTL    time.Duration `name:"home-l1-ttl" env:"ROWMILL_HOME_L1_TTL" default:"5s" help:"How long a gateway's own copy of the home board is fresh; what is free is never a copy."`
	HomeL2TTL    time.Duration `name:"home-l2-ttl" env:"ROWMILL_HOME_L2_TTL" default:"60s" help:"How long the copy of the home board in Redis is fresh."`
	DrainTimeout time.Duration `name:"drain-timeout" env:"ROWMILL_DRAIN_TIMEOUT" default:"10s" help:"How long open requests may last at shutdown."`

	CouponTimeout time.Duration `name:"coupon-timeout" env:"ROWMILL_COUPON_TIMEOUT" default:"1s" help:"Limit of one round trip to Redis for coupon prices."`

	TimeZone string `name:"time-zone" env:"ROWMILL_TIME_ZONE" default:"Asia/Seoul" help:"Time zone of a file whose request names none."`
	Language string `name:"language" env:"ROWMILL_LANGUAGE" default:"en" help:"Language of a file whose request names none: en or ko."`

	TraceRatio float64 `name:"trace-ratio" env:"ROWMILL_TRACE_RATIO" default:"0.05" help:"Part of the traces that are sent, 0 to 1, of those that no export began; exports' are all sent. Only with OTEL_EXPORTER_OTLP_ENDPOINT."`

	LogFormat string `name:"log-format" env:"ROWMILL_LOG_FORMAT" default:"text" help:"text or json."`
	LogLevel  string `name:"log-level" env:"ROWMILL_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
}

// Plays reports whether the process plays the role.
func (c *Config) Plays(r Role) bool { return slices.Contains(c.Roles, string(r)) }

// Embedded reports whether the process needs no other server.
func (c *Config) Embedded() bool { return c.MySQLDSN == "" && c.RedisURL == "" }

// Exports reports whether the process has to do with jobs and files: the
// reservation API alone needs the SQL database, and for coupon prices Redis.
func (c *Config) Exports() bool { return c.Plays(Gateway) || c.Plays(Worker) }

// Encoders gives the number of encode slots.
func (c *Config) Encoders() int { return cmp.Or(c.EncodeSlots, runtime.GOMAXPROCS(0)) }

// Level gives the log level.
func (c *Config) Level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(c.LogLevel)) // Check has seen it
	return l
}

// Check gives everything that is wrong, each with the flag's name. (kong calls a
// method Validate on its own, before all that is wrong is known.)
func (c *Config) Check() error {
	var p problems
	p.roles(c)
	p.identity(c)
	p.addresses(c)
	p.proxies(c)
	p.stores(c)
	p.numbers(c)
	p.origins(c)
	if _, err := time.LoadLocation(c.TimeZone); err != nil || c.TimeZone == "" || c.TimeZone == "Local" {
		p.add("time-zone", "%q is not a known IANA time zone, like Asia/Seoul", c.TimeZone)
	}
	if !(c.TraceRatio >= 0 && c.TraceRatio <= 1) { // NaN is neither
		p.add("trace-ratio", "%v is not between 0 and 1", c.TraceRatio)
	}
	p.oneOf("language", c.Language, "en", "ko")
	p.oneOf("log-format", c.LogFormat, "text", "json")
	p.oneOf("log-level", c.LogLevel, "debug", "info", "warn", "error")
	return errors.Join(p.errors()...)
}

// problem is what is wrong with one flag.
type problem struct{ flag, detail string }

func (p problem) Error() string { return "--" + p.flag + ": " + p.detail }

type problems []problem

func (p problems) errors() []error {
	errs := make([]error, len(p))
	for i, one := range p {
		errs[i] = one
	}
	return errs
}

func (p *problems) add(flag, format string, args ...any) {
	*p = append(*p, problem{flag, fmt.Sprintf(format, args...)})
}

func (p *problems) oneOf(flag, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add(flag, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
}

func (p *problems) roles(c *Config) {
	if len(c.Roles) == 0 {
		p.add("roles", "name at least one of gateway, worker, reservations")
	}
	for _, r := range c.Roles {
		p.oneOf("roles", r, string(Gateway), string(Worker), string(Reservations))
	}
	split := len(c.Roles) > 0 && (!c.Plays(Gateway) || !c.Plays(Worker) || !c.Plays(Reservations))
	if split && c.Embedded() {
		p.add("roles", "roles in separate processes need --mysql-dsn and --redis-url: the embedded servers are this process's alone")
	}
	if !c.Plays(Reservations) && c.ReservationsURL == "" {
		p.add("reservations-url", "is needed, since this process does not play reservations")
	}
	if (split || c.ReservationsURL != "") && len(c.ServiceToken) < 16 {
		p.add("service-token", "of at least 16 characters is needed, since roles are in separate processes")
	}
	if c.Plays(Gateway) && !c.Embedded() && c.Token == "" && c.Issuer == "" {
		p.add("token", "is needed, or --oidc-issuer, since the gateway does not run embedded")
	}
	if c.Token != "" && len(c.Token) < 16 {
		p.add("token", "is too short: at least 16 characters")
	}
}

func (p *problems) addresses(c *Config) {
	for _, a := range []struct {
		flag, value string
		needed      bool
	}{{"gateway-addr", c.GatewayAddr, c.Plays(Gateway)}, {"reservations-addr", c.ReservationsAddr, c.Plays(Reservations)}, {"admin-addr", c.AdminAddr, c.AdminAddr != ""}} {
		if _, _, err := net.SplitHostPort(a.value); a.needed && err != nil {
			p.add(a.flag, "%q is not host:port", a.value)
		}
	}
	for _, u := range []struct{ flag, value string }{{"reservations-url", c.ReservationsURL}, {"base-url", c.BaseURL}} {
		parsed, err := url.Parse(u.value)
		if u.value != "" && (err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || strings.HasSuffix(u.value, "/")) {
			p.add(u.flag, "is not an http:// or https:// address without a slash at its end")
		}
	}
}

func (p *problems) stores(c *Config) {
	if c.Exports() && (c.MySQLDSN == "") != (c.RedisURL == "") {
		p.add("redis-url", "and --mysql-dsn go together: either both servers are yours or both are embedded")
	}
	if c.MySQLDSN == "" && c.DataDir == "" {
		p.add("data-dir", "is needed for the embedded database")
	}
	if u, err := url.Parse(c.BlobURL); c.BlobURL != "" && (err != nil || (u.Scheme != "file" && u.Scheme != "s3")) {
		p.add("blob-url", "is neither file:///dir nor s3://bucket")
	}
}

func (p *problems) numbers(c *Config) {
	for _, n := range []struct {
		flag      string
		v, lo, hi int64
	}{
		{"page-size", int64(c.PageSize), 1, 5000}, {"fetch-min", int64(c.FetchMin), 1, int64(c.FetchSlots)}, {"fetch-slots", int64(c.FetchSlots), 1, int64(c.FetchMax)}, {"fetch-max", int64(c.FetchMax), 1, 256},
		{"encode-slots", int64(c.EncodeSlots), 0, 256},
		{"window", int64(c.Window), 1, 1024}, {"small-slots", int64(c.SmallSlots), 1, 256}, {"shared-slots", int64(c.SharedSlots), 1, 256},
		{"small-rows", c.SmallRows, 0, 1 << 40}, {"max-failures", int64(c.MaxFailures), 1, 100}, {"max-jobs-per-user", int64(c.MaxUserJobs), 0, 1000},
		{"resume-rows", c.ResumeRows, 0, 1 << 40}, {"spread-rows", c.SpreadRows, 0, 1 << 40}, {"segment-slots", int64(c.SegmentSlots), 1, 256},
		{"max-rows", c.MaxRows, 0, 1 << 40}, {"max-queued-jobs", c.QueuedJobs, 0, 1_000_000}, {"max-queued-rows", c.QueuedRows, 0, 1 << 40}, {"rate-per-second", int64(c.CallRate), 0, 100_000}, {"rate-burst", int64(c.CallBurst), 1, 1_000_000}, {"streams-per-user", int64(c.UserStreams), 0, 200},
		{"gc-percent", int64(c.GCPercent), 10, 1000}, {"sql-conns", int64(c.SQLConns), 1, 10_000},
		{"api-max-pages", int64(c.APIPages), 1, 10_000}, {"api-max-snapshots", int64(c.APISnapshots), 1, 10_000}, {"api-max-reads", int64(c.APIReads), 1, 10_000},
	} {
		if n.v < n.lo || n.v > n.hi {
			p.add(n.flag, "%d is not between %d and %d", n.v, n.lo, n.hi)
		}
	}
	for _, d := range []struct {
		flag      string
		v, lo, hi time.Duration
	}{
		{"job-timeout", c.JobTimeout, time.Second, 7 * 24 * time.Hour}, {"table-timeout", c.TableTimeout, 100 * time.Millisecond, time.Minute}, {"lease", c.Lease, 2 * time.Second, 10 * time.Minute},
		{"report-every", c.ReportEvery, 10 * time.Millisecond, c.Lease / 4}, {"sweep-every", c.SweepEvery, 100 * time.Millisecond, time.Hour}, {"retention", c.Retention, time.Minute, 10 * 365 * 24 * time.Hour},
		{"files-every", c.FilesEvery, 100 * time.Millisecond, 24 * time.Hour}, {"files-age", c.FilesAge, time.Second, 30 * 24 * time.Hour},
		{"audit-retention", c.AuditRetention, 24 * time.Hour, 20 * 365 * 24 * time.Hour},
		{"home-l1-ttl", c.HomeL1TTL, 10 * time.Millisecond, min(c.HomeL2TTL, 10*time.Minute)}, {"home-l2-ttl", c.HomeL2TTL, time.Second, 24 * time.Hour},
		{"coupon-timeout", c.CouponTimeout, 10 * time.Millisecond, 30 * time.Second},
		{"api-timeout", c.APITimeout, 100 * time.Millisecond, time.Hour}, {"drain-timeout", c.DrainTimeout, 0, 10 * time.Minute},
	} {
		if d.v < d.lo || d.v > d.hi {
			p.add(d.flag, "%v is not between %v and %v", d.v, d.lo, d.hi)
		}
	}
}
