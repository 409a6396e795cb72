package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

// console is what a command has written, by whatever goroutine.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// rowmill runs a command as main does and fails if it does not exit with code.
func rowmill(ctx context.Context, t *testing.T, code int, args ...string) (out, err string) {
	t.Helper()
	var stdout, stderr console
	if got := run(ctx, args, streams{&stdout, &stderr}); got != code {
		t.Fatalf("rowmill %s exits with %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// has fails if text lacks one of the parts.
func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestExitCodesTellAWrongCallFromAFailure(t *testing.T) {
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"--help"}, 0, "Usage: rowmill", ""},
		{[]string{"--version"}, 0, version, ""},
		{[]string{"export", "--help"}, 0, "--columns", ""},
		{nil, 2, "", "expected one of"},
		{[]string{"exprot"}, 2, "", "exprot"},
		{[]string{"export", "--colums=id"}, 2, "", "--colums"},
		{[]string{"import", "synthetic"}, 2, "", "--rows"},
		{[]string{"import", "hotel-bookings", "/no/such/file"}, 2, "", "/no/such/file"},
		{[]string{"import", "synthetic", "--rows=0", "--data-dir=" + t.TempDir()}, 1, "", "--rows: 0 is not between"},
		{[]string{"export", "--data-dir=" + t.TempDir()}, 1, "", "set ROWMILL_TOKEN or --token"},
		{[]string{"export", "--token=x", "--filter=status"}, 1, "", `--filter: "status" is not FIELD=VALUE`},
		{[]string{"migrate", "--data-dir=" + t.TempDir()}, 0, "The schema is up to date.", ""},
		{[]string{"health", "--admin-addr=127.0.0.1:1"}, 1, "", "ask for readiness"},
	} {
		out, err := rowmill(t.Context(), t, c.code, c.args...)
		has(t, "the output", out, c.out)
		has(t, "the error", err, c.err)
		if c.code == 0 && err != "" || c.code != 0 && (out != "" || !strings.HasPrefix(err, "rowmill: ")) {
			t.Errorf("rowmill %v writes %q and %q", c.args, out, err)
		}
	}
}

func TestServeTellsAllThatIsWrongWithItsConfiguration(t *testing.T) {
	t.Setenv("ROWMILL_LEASE", "soon")
	_, err := rowmill(t.Context(), t, 1, "serve", "--page-size=9000", "--window=many", "--log-format=xml", "--time-zone=Mars/Base", "--data-dir="+t.TempDir())
	has(t, "the error", err, "the configuration is not valid:", "--page-size: 9000", `--window: "many"`, `--log-format: "xml"`, `--time-zone: "Mars/Base"`, `--lease: "soon"`)
}

// Whoever sets up a process finds each setting, its variable and its default in the help.
func TestHelpShowsEachSettingWithItsVariableAndItsDefault(t *testing.T) {
	out, _ := rowmill(t.Context(), t, 0, "serve", "--help")
	help := strings.Join(strings.Fields(out), " ") // its lines are broken where they are full
	parser, err := kong.New(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		shown++
		has(t, "the help", help, "--"+flag.Name, "$"+flag.Envs[0])
		if flag.HasDefault {
			_, after, _ := strings.Cut(help, "--"+flag.Name+"=")
			if before, _, _ := strings.Cut(after, "$"+flag.Envs[0]); !strings.Contains(before, flag.Default) {
				t.Errorf("--%s: the help does not show the default %s: %s", flag.Name, flag.Default, before)
			}
		}
	}
	if shown < 30 {
		t.Errorf("only %d settings were looked for", shown)
	}
}

func TestExportNamesEverythingThatIsWrongWithAnOrder(t *testing.T) {
	a, _ := boot(t, 10, nil)
	out := filepath.Join(t.TempDir(), "out.csv")
	_, err := rowmill(t.Context(), t, 1, "export", "--gateway="+a.gateway.url(), "--token="+testToken, "--out="+out,
		"--columns=id,colour", "--filter=shape=round", "--filter=nights_gte=many", "--sort=memo", "--time-zone=Mars/Base")
	has(t, "the error", err, `"colour"`, "shape", `"many"`, `"memo"`, "Mars/Base")
	if n := count(t, a, "SELECT COUNT(*) FROM export_jobs"); n != 0 {
		t.Errorf("%d jobs were made of it", n)
	}
	_, err = rowmill(t.Context(), t, 1, "export", "--gateway="+a.gateway.url(), "--token=not-the-token-0123456789", "--out="+out)
	has(t, "the error", err, "token")
}

// In a pipe progress is plain lines, on the error stream; the output is the receipt.
func TestInAPipeProgressIsPlainLines(t *testing.T) {
	a, _ := boot(t, 2500, nil)
	path := filepath.Join(t.TempDir(), "out.csv")
	out, err := rowmill(t.Context(), t, 0, "export", "--gateway="+a.gateway.url(), "--token="+testToken, "--format=csv", "--filter=id_lte=2000", "--out="+path)
	has(t, "the output", out, path, "2000 of 2000 in the snapshot; 2000 distinct; 0 deleted meanwhile", "sha-256")
	has(t, "the progress", err, "job ", "export: 2000 of 2000 rows (100 %)\n")
	if strings.ContainsAny(out+err, "\r\x1b") {
		t.Errorf("a pipe gets a terminal's characters: %q", out+err)
	}
	f, openErr := os.Open(path)
	if openErr != nil {
		t.Fatal(openErr)
	}
	defer func() { _ = f.Close() }() // only read
	reader := csv.NewReader(f)
	reader.LazyQuotes = true // the byte order mark
	if records, err := reader.ReadAll(); err != nil || len(records) != 2001 {
		t.Errorf("the file has %d records, %v", len(records), err)
	}
}

func TestCtrlCDuringAnExportCancelsItsJob(t *testing.T) {
	b := newBetween(t, noPage, 1<<40) // the job runs until it is canceled
	a, _ := boot(t, 10, func(cfg *config.Config) { cfg.ReservationsURL = b.URL })
	b.aim(t, a)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	dir := t.TempDir()
	var stderr console
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"export", "--gateway=" + a.gateway.url(), "--token=" + testToken, "--out=" + filepath.Join(dir, "out.xlsx")}, streams{&stderr, &stderr})
	}()
	limit := time.After(time.Minute)
	for count(t, a, "SELECT COUNT(*) FROM export_jobs WHERE status = 'running'") == 0 {
		select {
		case <-limit:
			t.Fatalf("no job runs:\n%s", &stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	interrupt()
	if got := <-code; got != 1 {
		t.Errorf("it exits with %d", got)
	}
	has(t, "the error", stderr.String(), "interrupted: job ", " is canceled")
	if n := count(t, a, "SELECT COUNT(*) FROM export_jobs WHERE status = 'canceled'"); n != 1 {
		t.Errorf("%d jobs are canceled", n)
	}
	if left := storedFiles(t, dir); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestADemoWhosePortIsTakenWorksAndItsDataAreUsedAgain(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h, dir := &house{env: os.Environ()}, t.TempDir()
	demo := func() string {
		out := h.tool(t, "demo", "--exit", "--gateway-addr="+taken.Addr().String(), "--data-dir="+filepath.Join(dir, "data"), "--out="+filepath.Join(dir, "out.xlsx"))
		has(t, "the output", out, "119390 of 119390 in the snapshot")
		return out
	}
	has(t, "the first output", demo(), "imported 119390 reservations: 75166 checked out, 43017 canceled, 1207 no-shows; payments of 42723497.53 EUR", "made up a home board of 37 sections")
	has(t, "the second output", demo(), "the data directory holds reservations already: they are used")
}

// reservationsIn counts the embedded database's reservations.
func reservationsIn(t *testing.T, dataDir string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dataDir, "rowmill.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its query has been answered
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM reservations").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestASecondImportIsRefusedAndChangesNothing(t *testing.T) {
	data := "--data-dir=" + t.TempDir()
	out, progress := rowmill(t.Context(), t, 0, "import", "synthetic", "--rows=500", data)
	has(t, "the output", out, "imported 500 reservations")
	has(t, "the progress", progress, "import: 500 of 500 rows (100 %)\n")
	for _, again := range [][]string{{"synthetic", "--rows=700"}, {"hotel-bookings", samplePath}} {
		out, err := rowmill(t.Context(), t, 1, append(append([]string{"import"}, again...), data)...)
		has(t, "the error", err, "already")
		if out != "" {
			t.Errorf("a refused import says %q", out)
		}
	}
	if n := reservationsIn(t, strings.TrimPrefix(data, "--data-dir=")); n != 500 {
		t.Errorf("the database has %d reservations", n)
	}
}

// sampleLines gives the first lines of the published file.
func sampleLines(t *testing.T, n int) (lines []string) {
	t.Helper()
	f, err := os.Open(samplePath)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(plain); len(lines) < n && s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func TestAnImportNamesEachBadLineAndLoadsNothing(t *testing.T) {
	lines := sampleLines(t, 8)
	for _, bad := range []int{4, 7} {
		lines[bad-1] = strings.Replace(lines[bad-1], ",", ",not-a-number,", 1) // a field too many
	}
	lines[5] = strings.Replace(lines[5], ",2015,", ",MMXV,", 1)
	path := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := rowmill(t.Context(), t, 1, "import", "hotel-bookings", path, "--data-dir="+dir)
	has(t, "the error", err, "line 4", "line 6", "MMXV", "line 7")
	if n := reservationsIn(t, dir); n != 0 {
		t.Errorf("the database has %d reservations", n)
	}
}

func TestABrokenDownloadIsTakenUpByTheCommandItNames(t *testing.T) {
	a, c := boot(t, 50, nil)
	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv"}, "resume")
	if err != nil {
		t.Fatal(err)
	}
	awaitJob(t, c, job.ID, ended)
	path := filepath.Join(t.TempDir(), "out.csv")
	part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".out.csv.%s.part", job.ID))
	if err := os.WriteFile(part, []byte("\uFEFF"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := rowmill(t.Context(), t, 0, "export", "--gateway="+a.gateway.url(), "--token="+testToken, "--resume="+job.ID, "--out="+path)
	has(t, "the output", out, "50 of 50 in the snapshot")
	if n := count(t, a, "SELECT COUNT(*) FROM export_jobs"); n != 1 {
		t.Errorf("there are %d jobs", n)
	}
}

func TestAFileWithoutANameIsNamedByTheJobsFormat(t *testing.T) {
	a, c := boot(t, 50, nil)
	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv"}, "named")
	if err != nil {
		t.Fatal(err)
	}
	awaitJob(t, c, job.ID, ended)
	t.Chdir(t.TempDir())
	for file, args := range map[string][]string{"reservations.csv": {"--resume=" + job.ID}, "reservations.xlsx": nil} {
		rowmill(t.Context(), t, 0, append([]string{"export", "--gateway=" + a.gateway.url(), "--token=" + testToken}, args...)...)
		if _, err := os.Stat(file); err != nil {
			t.Errorf("export %v: %v", args, err)
		}
	}
}
