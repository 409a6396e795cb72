package bench

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rowmill/ingest"
	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }

// small is a bench of three small pages, or of two of its own size.
var small = Config{Rows: 250, PageSize: 200, Pool: 3, Repeat: 1, Ladder: true}

// clock counts the delays that are asked of it, by their length, and takes no time.
type clock struct{ statements, calls atomic.Int64 }

const (
	rtt      = time.Millisecond
	apiDelay = time.Second
)

func (c *clock) wait(_ context.Context, d time.Duration) error {
	switch d {
	case rtt:
		c.statements.Add(1)
	case apiDelay:
		c.calls.Add(1)
	}
	return nil
}

func quiet(string) {}

// lazyStatements is what a query for each row and relation comes to: eight
// relations that each reservation has or may have, and its agent if it names one.
func lazyStatements(rows, pages int) int64 {
	n := int64(1 + pages)
	for i := range rows {
		n += 8
		if ingest.SyntheticRow(int64(i+1), seed).AgentID != nil {
			n++
		}
	}
	return n
}

type counts struct{ Statements, Calls int64 }

func wantLadder(rows int) []counts {
	batched := counts{1 + 2*10, 3} // the ids; two pages of the main table and nine relations
	return []counts{{lazyStatements(rows, 3), 4}, {lazyStatements(rows, 3), 4}, {lazyStatements(rows, 2), 3}, batched, batched, batched}
}

func TestEachRungSendsItsStatementsAndWritesTheSameCells(t *testing.T) {
	c, clock := small, &clock{}
	c.RTT, c.APIDelay = rtt, apiDelay
	r, err := run(t.Context(), c, quiet, clock.wait)
	if err != nil {
		t.Fatal(err)
	}
	var got []counts
	var all counts
	for i, s := range r.Ladder {
		got = append(got, counts{s.Statements, s.APICalls})
		all.Statements += s.Statements
		all.Calls += s.APICalls
		if s.Rung != i+1 || s.SheetSHA256 != r.Ladder[0].SheetSHA256 || len(s.SheetSHA256) != 64 {
			t.Errorf("rung %d is called %d and wrote %q", i+1, s.Rung, s.SheetSHA256)
		}
		if s.receipt.Statements != s.Statements || s.receipt.Written != int64(c.Rows) || s.FileBytes != s.receipt.Bytes {
			t.Errorf("rung %d: the receipt has %d statements, %d rows, %d bytes; the bench %d, %d, %d", s.Rung,
				s.receipt.Statements, s.receipt.Written, s.receipt.Bytes, s.Statements, c.Rows, s.FileBytes)
		}
	}
	if diff := cmp.Diff(wantLadder(c.Rows), got); diff != "" {
		t.Errorf("statements and calls of the rungs (-want +got):\n%s", diff)
	}
	if delayed := (counts{clock.statements.Load(), clock.calls.Load()}); delayed != all {
		t.Errorf("delayed %+v, want %+v: each statement and each call once, and nothing of the preparation", delayed, all)
	}
	if wide, asked := r.Ladder[3].WireBytes, r.Ladder[4].WireBytes; asked >= wide {
		t.Errorf("the asked columns took %d bytes, all columns %d", asked, wide)
	}
}

// What a former bench has left serves a smaller one; there, one row has no agent
// and texts come as bytes.
func TestMySQLAndTheRowsOfAFormerBench(t *testing.T) {
	c := small
	c.MySQLDSN = testdb.MySQL(t)
	first, err := Run(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	c.Rows = 210
	second, err := Run(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Report{first, second} {
		var got []counts
		for _, s := range r.Ladder {
			got = append(got, counts{s.Statements, s.APICalls})
		}
		if diff := cmp.Diff(wantLadder(r.Rows), got); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", r.Rows, diff)
		}
		if r.Database != "mysql" || r.DatabaseCPU {
			t.Errorf("the report says %q, its CPU included: %v", r.Database, r.DatabaseCPU)
		}
	}
	c.Rows, c.Ladder, c.MySQLDSN = 210, false, ""
	sqlite, err := Run(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sqlite.whole().SheetSHA256, second.whole().SheetSHA256; got != want || len(sqlite.Ladder) != 1 {
		t.Errorf("SQLite's product alone wrote %s in %d rungs, MySQL's %s", got, len(sqlite.Ladder), want)
	}
}

func TestARungThatWritesOtherCellsFailsTheBench(t *testing.T) {
	c := small
	c.MySQLDSN = testdb.MySQL(t)
	db, err := sql.Open("mysql", c.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	meddle := func(what string) {
		if strings.HasPrefix(what, "+ only the asked columns") {
			if _, err := db.ExecContext(t.Context(), "UPDATE guests SET name = 'Somebody' WHERE reservation_id = 7"); err != nil {
				t.Error(err)
			}
		}
	}
	_, err = Run(t.Context(), c, meddle)
	if err == nil || !strings.Contains(err.Error(), "rung 5 wrote other cells than rung 1") {
		t.Errorf("got %v", err)
	}
}

func TestEachStageIsMeasured(t *testing.T) {
	c := small
	c.Stages, c.Ladder, c.Repeat = true, false, 2
	r, err := Run(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.Stages {
		names = append(names, s.Name)
		if s.WallMillis <= 0 && s.Name != stageEncode && s.Name != stageWrite { // which are differences
			t.Errorf("%s took %v ms", s.Name, s.WallMillis)
		}
		wantStatements, wire := int64(0), false
		switch s.Name {
		case stageSQL:
			wantStatements = 21
		case stageHTTP:
			wire = true
		}
		if s.Statements != wantStatements || s.WireBytes > 0 != wire {
			t.Errorf("%s: %d statements, %v bytes over the wire", s.Name, s.Statements, s.WireBytes)
		}
	}
	if diff := cmp.Diff(stageNames, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatAConfigMayNotBe(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no rows", func(c *Config) { c.Rows = 0 }, "--rows: 0 is not between 1 and 10000000"},
		{"a page too large", func(c *Config) { c.PageSize = 5001 }, "--page-size: 5001 is not between 1 and 5000"},
		{"no pool", func(c *Config) { c.Pool = 0 }, "--pool: 0 is not between 1 and 256"},
		{"no run", func(c *Config) { c.Repeat = 0 }, "--repeat: 0 is not between 1 and 100"},
		{"time backwards", func(c *Config) { c.RTT = -1 }, "--rtt: -1ns is not between 0s and 10s"},
		{"no patience", func(c *Config) { c.APIDelay = time.Hour }, "--api-delay: 1h0m0s is not between 0s and 10s"},
		{"all that is wrong", func(c *Config) { c.Rows, c.Pool = -1, 257 }, "--rows: -1 is not between 1 and 10000000\n--pool: 257 is not between 1 and 256"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small
			test.change(&c)
			if _, err := Run(t.Context(), c, quiet); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
