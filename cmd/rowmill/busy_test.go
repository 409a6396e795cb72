package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"rowmill/export"
	"rowmill/internal/config"
)

func busyPage(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

// A job whose pages are turned away waits for them; it does not fail.
func TestAReservationAPIThatTurnsPagesAwayFailsNoJob(t *testing.T) {
	job, _ := spoiledJob(t, busyPage, 7, 1) // more often than a page has tries for faults
	if job.Status != export.Succeeded || job.Receipt.Written != 60 || job.Receipt.Distinct != 60 {
		t.Errorf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
	}
}

// Who waits before a screen is told at once to come back, and when; an order is
// taken all the same.
func TestABusyReservationAPIIsToldToTheCallerAtOnce(t *testing.T) {
	var calls atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "37")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(busy.Close)
	a, _ := boot(t, 10, func(cfg *config.Config) {
		noWorker(cfg)
		cfg.ReservationsURL = busy.URL
	})
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/v1/reservations?_end=10", ""},
		{"GET", "/api/v1/reservations/1", ""},
		{"POST", "/api/v1/exports/preflight", `{}`},
	} {
		before := calls.Load()
		got := call(t, a, c.method, c.path, c.body)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "37" || !bytes.Contains(got.body, []byte("urn:rowmill:problem:overloaded")) {
			t.Errorf("%s %s: %d, Retry-After %q: %s", c.method, c.path, got.status, got.header.Get("Retry-After"), got.body)
		}
		if n := calls.Load() - before; n != 1 {
			t.Errorf("%s %s makes %d calls", c.method, c.path, n)
		}
	}
	got := call(t, a, "POST", "/api/v1/exports", `{}`)
	if got.status != http.StatusAccepted || !bytes.Contains(got.body, []byte(`"queue":"large"`)) {
		t.Errorf("the order: %d %s", got.status, got.body)
	}
}
