package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/ingest"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
	"rowmill/internal/testdb"
	"rowmill/repository"
)

// boot runs the whole product in this process until the test ends, on MariaDB and
// Redis, with rows made up.
func boot(t *testing.T, rows int, change func(*config.Config)) (*app, *exportclient.Client) {
	t.Helper()
	cfg, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.MySQLDSN, cfg.RedisURL, cfg.DataDir = testdb.MySQL(t), testdb.Redis(t), t.TempDir()
	cfg.Token, cfg.ServiceToken = testToken, serviceToken
	cfg.GatewayAddr, cfg.ReservationsAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.MaxUserJobs, cfg.CallRate = 0, 0 // the tests are one impatient user
	if change != nil {
		change(cfg)
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.db.Migrate(t.Context()); err != nil {
		t.Fatal(errors.Join(err, a.close()))
	}
	if rows > 0 {
		if _, err := ingest.Run(t.Context(), repository.NewLoader(a.db), ingest.Synthetic(rows, 1), nil); err != nil {
			t.Fatal(errors.Join(err, a.close()))
		}
	}
	runUntilCleanup(t, a)
	if a.gateway == nil {
		return a, nil
	}
	return a, exportclient.New(a.gateway.url(), testToken)
}

// runUntilCleanup lets the app work until the test ends.
func runUntilCleanup(t *testing.T, a *app) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// download gives the records of a job's CSV file, its header cut off.
func download(t *testing.T, c *exportclient.Client, job exportclient.Job) [][]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := c.Download(t.Context(), job, path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records[1:]
}

// mutator changes reservations as fast as it can: it deletes, adds and re-sorts.
type mutator struct {
	db      *sql.DB
	deleted map[int64]bool
	done    sync.WaitGroup
	err     error
}

func (m *mutator) run(ctx context.Context, rows int64) {
	for n := int64(1); ctx.Err() == nil; n++ {
		gone, moved := (n*7919)%rows+1, (n*104729)%rows+1
		for _, s := range []struct {
			statement string
			id        int64
		}{
			{"DELETE FROM reservations WHERE id = ?", gone},
			{"UPDATE reservations SET check_in = DATE_ADD(check_in, INTERVAL 400 DAY), nights = nights + 1 WHERE id = ?", moved},
			{"INSERT IGNORE INTO reservations (id, code, property_id, product_id, channel_id, status, status_date, booked_on, check_in, check_out, nights, updated_at) " +
				"SELECT id + 1000000, CONCAT('N', id), property_id, product_id, channel_id, status, status_date, booked_on, check_in, check_out, nights, updated_at FROM reservations WHERE id = ?", (n*15485863)%rows + 1},
		} {
			if _, err := m.db.ExecContext(ctx, s.statement, s.id); err != nil && ctx.Err() == nil {
				m.err = err
				return
			}
		}
		m.deleted[gone] = true
	}
}

// Rows come, go and change their places while 100,000 of them are exported, sorted
// by what changes: each row of the snapshot is in the file once, or is gone.
func TestAMovingTableGivesEveryRowOfTheSnapshotOnce(t *testing.T) {
	const rows = 100_000
	a, c := boot(t, rows, nil)
	db, err := sql.Open("mysql", a.cfg.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	m := &mutator{db: db, deleted: map[int64]bool{}}
	m.done.Go(func() { m.run(ctx, rows) })

	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv", Sort: "check_in", Order: "desc", Columns: []string{"id", "check_in", "status", "guest_name", "amount", "memo"}}, "moving")
	if err != nil {
		t.Fatal(err)
	}
	job = awaitJob(t, c, job.ID, ended)
	stop()
	m.done.Wait()
	if err := errors.Join(m.err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	r := job.Receipt
	if len(m.deleted) < 100 || r.DeletedMeanwhile == 0 {
		t.Fatalf("only %d rows were deleted meanwhile, the receipt counts %d: nothing is shown", len(m.deleted), r.DeletedMeanwhile)
	}
	seen := map[int64]int{}
	for _, record := range download(t, c, job) {
		id, err := strconv.ParseInt(record[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seen[id]++
	}
	if err := holds(seen, m.deleted, rows, *r); err != nil {
		t.Error(err)
	}
}

// holds compares a file's ids with what became of the table and with the receipt.
func holds(seen map[int64]int, deleted map[int64]bool, rows int64, r export.Receipt) error {
	written := int64(0)
	var errs []error
	for id, times := range seen {
		written += int64(times)
		if times != 1 {
			errs = append(errs, fmt.Errorf("id %d is in the file %d times", id, times))
		}
	}
	for id := range rows {
		if seen[id+1] == 0 && !deleted[id+1] {
			errs = append(errs, fmt.Errorf("id %d is neither in the file nor deleted", id+1))
		}
	}
	if r.Written != written || r.Expected != r.Written+r.DeletedMeanwhile || r.Distinct != int64(len(seen)) {
		errs = append(errs, fmt.Errorf("the file has %d rows, the receipt says %+v", written, r))
	}
	return errors.Join(errs[:min(10, len(errs))]...)
}

// Exports leave nothing behind: TestMain finds goroutines that are left.
func TestManyExportsLeaveTheirFilesAndNothingElse(t *testing.T) {
	a, c := boot(t, 200, nil)
	var want []string
	for i := range 40 {
		job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv", FileName: fmt.Sprintf("%d.csv", i)}, fmt.Sprintf("many-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			if _, err := c.Cancel(t.Context(), job.ID); err != nil {
				var p *exportclient.Problem
				if !errors.As(err, &p) || p.Status != 409 { // it may have ended already
					t.Fatal(err)
				}
			}
		}
		if job = awaitJob(t, c, job.ID, ended); job.Status == export.Succeeded {
			want = append(want, "exports/"+job.ID+".1.csv")
		}
	}
	slices.Sort(want)
	awaitFiles(t, filepath.Join(a.cfg.DataDir, "files"), want)
}

// awaitFiles waits until the directory holds these files: an attempt that was
// canceled removes its own a moment later.
func awaitFiles(t *testing.T, dir string, want []string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		got := storedFiles(t, dir)
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
		select {
		case <-limit:
			t.Fatalf("files (-want +got):\n%s", cmp.Diff(want, got))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
