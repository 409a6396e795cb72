package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/config"
)

// clockedWorker runs a worker in this process whose clock is wrong by that much.
// Redis, SQL and the rest of the house have the right time.
func (h *house) clockedWorker(t *testing.T, wrong time.Duration) {
	t.Helper()
	cfg, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Roles, cfg.MySQLDSN, cfg.RedisURL, cfg.BlobURL = []string{string(config.Worker)}, h.dsn, h.redis, "file://"+h.files
	cfg.ReservationsURL, cfg.ServiceToken = h.apiURL, serviceToken
	cfg.PageSize, cfg.FetchSlots, cfg.FetchMax = 10, 1, 1
	cfg.Lease, cfg.ReportEvery, cfg.SweepEvery, cfg.MaxFailures = 2*time.Second, 100*time.Millisecond, 200*time.Millisecond, 100
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a.now = func() time.Time { return time.Now().Add(wrong) }
	runUntilCleanup(t, a)
}

// Two workers whose clocks are further apart than a lease: the one that is ahead
// takes what the other runs for lost. The job begins anew and its file is right.
func TestWorkersWithDifferentClocksMakeOneRightFile(t *testing.T) {
	const apart = 5 * time.Second
	for name, clocks := range map[string]struct{ first, second time.Duration }{
		"the second is ahead": {0, apart},
		"the first is behind": {-apart, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, g := smallHouse(t)
			want := h.onlyRows(t)
			g.hold(2)
			h.clockedWorker(t, clocks.first)
			id := submit(t, h, "two-clocks")
			awaitJob(t, h.client(), id, running)
			h.clockedWorker(t, clocks.second)
			until(t, "the running job was taken for lost", func() bool { return h.standing(t, id, "").Failures > 0 })
			g.release()
			job := awaitJob(t, h.client(), id, ended)
			if job.Status != export.Succeeded || job.Receipt.Written != 60 {
				t.Fatalf("the job is %s: %+v, %+v", job.Status, job.Failure, job.Receipt)
			}
			until(t, "one file is left", func() bool { return len(filesOf(t, h, id)) == 1 })
			files := filesOf(t, h, id)
			if got := h.standing(t, id, files[0]); got.Attempt < 2 || got.Rows != want {
				t.Errorf("the job is %+v, its rows should hash to %s", got, want)
			}
			if diff := cmp.Diff(files, filesOf(t, h, id)); diff != "" {
				t.Errorf("its files (-before +after):\n%s", diff)
			}
		})
	}
}

// onlyRows gives the hash of what the house's exports hold, by a worker that is right
// and gone again.
func (h *house) onlyRows(t *testing.T) string {
	t.Helper()
	worker := h.worker(t)
	id := submit(t, h, "control")
	if job := awaitJob(t, h.client(), id, ended); job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	if err := worker.Stop(); err != nil {
		t.Fatal(err)
	}
	return h.standing(t, id, "exports/"+id+".1.xlsx").Rows
}
