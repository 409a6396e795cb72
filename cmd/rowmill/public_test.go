package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

// answer is what the gateway said to a call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask calls the booted gateway as its user does.
func ask(ctx context.Context, a *app, method, path, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.gateway.url()+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	content, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, content}, errors.Join(err, resp.Body.Close())
}

func call(t *testing.T, a *app, method, path, body string) answer {
	t.Helper()
	got, err := ask(t.Context(), a, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// inSQL runs a statement on the booted database.
func inSQL(t *testing.T, a *app, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("mysql", a.cfg.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its statement has been answered
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// count gives a number out of the booted database.
func count(t *testing.T, a *app, query string, args ...any) (n int64) {
	t.Helper()
	db, err := sql.Open("mysql", a.cfg.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its query has been answered
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// noWorker leaves the workers out: what is asked for stays queued.
func noWorker(cfg *config.Config) { cfg.Roles = []string{"gateway", "reservations"} }

// Every row has the same sort key: the list, page by page, and the export, by the
// same pages, give each once and in the same order every time.
func TestEqualSortKeysGiveEveryRowOnceInOneOrder(t *testing.T) {
	const rows, page = 500, 7
	a, c := boot(t, rows, func(cfg *config.Config) { cfg.PageSize = page })
	inSQL(t, a, "UPDATE reservations SET check_in = '2024-02-29'")
	for _, order := range []string{"asc", "desc"} {
		want := make([]string, rows)
		for i := range want {
			want[i] = strconv.Itoa(i + 1)
		}
		if order == "desc" {
			slices.Reverse(want)
		}
		for range 2 {
			var got []string
			for start := 0; start < rows; start += page {
				list := call(t, a, "GET", fmt.Sprintf("/api/v1/reservations?_sort=check_in&_order=%s&_start=%d&_end=%d&_fields=id", order, start, start+page), "")
				var part []struct{ ID json.Number }
				if err := json.Unmarshal(list.body, &part); err != nil || list.header.Get("X-Total-Count") != strconv.Itoa(rows) {
					t.Fatalf("%v, total %s: %.200s", err, list.header.Get("X-Total-Count"), list.body)
				}
				for _, row := range part {
					got = append(got, row.ID.String())
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the list, %s (-want +got):\n%s", order, diff)
			}
		}
		job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv", Sort: "check_in", Order: order, Columns: []string{"id"}}, order)
		if err != nil {
			t.Fatal(err)
		}
		job = awaitJob(t, c, job.ID, ended)
		if job.Status != export.Succeeded || job.Receipt.Pages != (rows+page-1)/page {
			t.Fatalf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
		}
		var got []string
		for _, record := range download(t, c, job) {
			got = append(got, record[0])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the file, %s (-want +got):\n%s", order, diff)
		}
	}
}

// Two clicks at once, without a key to tell that they are one, over and over.
func TestADoubleClickIsOneJobInTheDatabase(t *testing.T) {
	a, _ := boot(t, 10, noWorker)
	const rounds, clicks = 10, 2
	for round := range rounds {
		order := fmt.Sprintf(`{"filter":{"nights_gte":["%d"]}}`, round)
		got, errs := make([]answer, clicks), make([]error, clicks)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range clicks {
			wg.Go(func() {
				<-start
				got[i], errs[i] = ask(t.Context(), a, "POST", "/api/v1/exports", order)
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for _, g := range got {
			if g.status != http.StatusAccepted || g.header.Get("Location") != got[0].header.Get("Location") {
				t.Errorf("%d at %s and %d at %s", got[0].status, got[0].header.Get("Location"), g.status, g.header.Get("Location"))
			}
		}
	}
	if n := count(t, a, "SELECT COUNT(*) FROM export_jobs"); n != rounds {
		t.Errorf("%d orders made %d jobs", rounds, n)
	}
}

func TestAJobThatNobodyWorksOnSaysSoAndForHowLong(t *testing.T) {
	a, c := boot(t, 10, noWorker)
	job, err := c.Submit(t.Context(), exportclient.Order{}, "waits")
	if err != nil {
		t.Fatal(err)
	}
	if job.Notice != nil || job.Place != 1 {
		t.Errorf("at once: place %d, notice %+v", job.Place, job.Notice)
	}
	long := time.Now().UTC().Add(-2*time.Hour - time.Minute)
	inSQL(t, a, "UPDATE export_jobs SET created_at = ?", long)
	notice := func(want string) {
		t.Helper()
		got, err := c.Get(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != export.Queued || got.Notice == nil || got.Notice.Code != "no-worker" || !strings.Contains(got.Notice.Message, want) {
			t.Errorf("the job is %s with notice %+v, want %q in it", got.Status, got.Notice, want)
		}
	}
	notice("No worker has run since this export was asked for, 2 hours ago.")
	inSQL(t, a, "INSERT INTO workers VALUES ('w', ?, ?)", long, time.Now().UTC().Add(-5*time.Minute-30*time.Second))
	notice("No worker is running; the last one was seen 5 minutes ago.")
	inSQL(t, a, "UPDATE workers SET seen_at = ?", time.Now().UTC())
	if got, err := c.Get(t.Context(), job.ID); err != nil || got.Notice != nil {
		t.Errorf("a worker being alive: %+v, %v", got.Notice, err)
	}
}

// A job is watched as closely as can be. The file is asked for before and after
// each look, so whichever of the two comes first, they must not contradict it.
func TestTheFileIsThereExactlyWhenTheJobIsAtAHundredPercent(t *testing.T) {
	a, c := boot(t, 10_000, func(cfg *config.Config) { cfg.PageSize, cfg.FetchSlots, cfg.ReportEvery = 100, 1, 10*time.Millisecond })
	job, err := c.Submit(t.Context(), exportclient.Order{}, "watched")
	if err != nil {
		t.Fatal(err)
	}
	file := "/api/v1/exports/" + job.ID + "/file"
	halfway := 0
	for limit := time.Now().Add(2 * time.Minute); !job.Status.Final(); {
		before := call(t, a, "HEAD", file, "").status
		if job, err = c.Get(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		after := call(t, a, "HEAD", file, "").status
		switch full := job.Percent == 100; {
		case full != (job.Status == export.Succeeded):
			t.Fatalf("a job that is %s is at %d %%", job.Status, job.Percent)
		case full && after != http.StatusOK:
			t.Fatalf("at 100 %% the file answers %d", after)
		case !full && before != http.StatusConflict:
			t.Fatalf("at %d %% the file answered %d", job.Percent, before)
		case running(job) && job.Percent > 0:
			halfway++
		}
		if time.Now().After(limit) {
			t.Fatalf("the job is still %s", job.Status)
		}
	}
	if halfway == 0 || job.Status != export.Succeeded {
		t.Fatalf("the job is %s, seen %d times in the middle", job.Status, halfway)
	}
	if got := call(t, a, "GET", file, ""); got.status != http.StatusOK || !bytes.HasPrefix(got.body, []byte("PK")) || int64(len(got.body)) != job.Receipt.Bytes {
		t.Errorf("the file answers %d with %d bytes of %d", got.status, len(got.body), job.Receipt.Bytes)
	}
}
