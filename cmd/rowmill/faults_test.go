package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

// spoiler spoils a call that asks for a page: it answers it itself, and is true, or
// it changes the request.
type spoiler func(w http.ResponseWriter, r *http.Request) (answered bool)

// between stands between the workers and the reservation API and spoils the
// first calls for pages.
type between struct {
	*httptest.Server
	target  atomic.Pointer[url.URL]
	spoil   spoiler
	pages   atomic.Int64 // calls for pages so far
	spoiled int64        // of them, from the first
}

func newBetween(t *testing.T, spoil spoiler, spoiled int64) *between {
	t.Helper()
	b := &between{spoil: spoil, spoiled: spoiled}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.target.Load()) }, ErrorLog: log.New(io.Discard, "", 0)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/batch-get") && b.pages.Add(1) <= b.spoiled && b.spoil(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// aim sends what comes on to the reservation API of a.
func (b *between) aim(t *testing.T, a *app) {
	t.Helper()
	target, err := url.Parse(a.reservations.url())
	if err != nil {
		t.Fatal(err)
	}
	b.target.Store(target)
}

func brokenPage(w http.ResponseWriter, _ *http.Request) bool {
	http.Error(w, "out of order", http.StatusInternalServerError)
	return true
}

// shortPage asks for one row less than the worker does, and so the answer is a
// well-formed page that lacks one.
func shortPage(w http.ResponseWriter, r *http.Request) bool {
	var asked struct {
		IDs    []json.Number `json:"ids"`
		Fields []string      `json:"fields"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.IDs) < 2 {
		http.Error(w, "not a page of two rows", http.StatusBadRequest)
		return true
	}
	asked.IDs = asked.IDs[:len(asked.IDs)-1]
	body, err := json.Marshal(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return true
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return false
}

func cutPage(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Length", "1000000")
	_, _ = io.WriteString(w, `{"fields":["id"],"rows":[[1],`) // the cut is the point
	return true
}

func noPage(_ http.ResponseWriter, r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body) // the server sees its caller leave only when it has read the body
	<-r.Context().Done()
	return true
}

// A page that fails or is not whole is asked for again; if that does not help,
// the job fails, says so, and nothing is published. It never is the end of the data.
func TestAPageThatIsNotWholeIsNeverTheEndOfTheData(t *testing.T) {
	for name, spoil := range map[string]spoiler{"broken": brokenPage, "short": shortPage, "cut": cutPage, "never answered": noPage} {
		t.Run(name+" once", func(t *testing.T) {
			job, a := spoiledJob(t, spoil, 1, 5)
			if job.Status != export.Succeeded || job.Receipt.Written != 60 || job.Receipt.DeletedMeanwhile != 0 {
				t.Errorf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
			}
			if got := call(t, a, "HEAD", "/api/v1/exports/"+job.ID+"/file", ""); got.status != http.StatusOK {
				t.Errorf("the file answers %d", got.status)
			}
		})
		t.Run(name+" always", func(t *testing.T) {
			job, a := spoiledJob(t, spoil, 1<<40, 1)
			if job.Status != export.Failed || job.Failure == nil || job.Failure.Message == "" || job.Percent == 100 || job.Receipt != nil {
				t.Errorf("the job is %s at %d %%: %+v, %+v", job.Status, job.Percent, job.Failure, job.Receipt)
			}
			if got := call(t, a, "GET", "/api/v1/exports/"+job.ID+"/file", ""); got.status != http.StatusConflict {
				t.Errorf("the file answers %d", got.status)
			}
			awaitFiles(t, filepath.Join(a.cfg.DataDir, "files"), nil)
		})
	}
}

// spoiledJob exports 60 rows in 6 pages and gives the job's end.
func spoiledJob(t *testing.T, spoil spoiler, spoiled int64, attempts int) (exportclient.Job, *app) {
	t.Helper()
	b := newBetween(t, spoil, spoiled)
	a, c := boot(t, 60, func(cfg *config.Config) {
		cfg.PageSize, cfg.MaxFailures, cfg.ReservationsURL, cfg.APITimeout = 10, attempts, b.URL, 300*time.Millisecond
	})
	b.aim(t, a)
	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv"}, "spoiled")
	if err != nil {
		t.Fatal(err)
	}
	job = awaitJob(t, c, job.ID, ended)
	if b.pages.Load() == 0 {
		t.Fatal("no page was asked for: nothing is shown")
	}
	return job, a
}
