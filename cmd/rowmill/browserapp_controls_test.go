package main

import (
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/browser"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

// The controls do what the browser tests rely on, embedded and on servers.
func TestTheControlsOfABrowserTest(t *testing.T) {
	for name, servers := range map[string]bool{"embedded": false, "on servers": true} {
		t.Run(name, func(t *testing.T) {
			b := bootBrowserApp(t, browserOptions{servers: servers, rows: 60, idle: true, change: func(cfg *config.Config) { cfg.PageSize = 10 }})
			job, err := b.api.Submit(t.Context(), exportclient.Order{Format: "csv"}, "controls")
			if err != nil || job.Status != export.Queued {
				t.Fatalf("without a worker: %s, %v", job.Status, err)
			}
			b.gate.hold(2)
			b.startWorker()
			awaitJob(t, b.api, job.ID, func(j exportclient.Job) bool { return j.Status == export.Running && j.RowsWritten == 20 })
			b.stopWorker()
			if job, err = b.api.Get(t.Context(), job.ID); err != nil || job.Status != export.Queued {
				t.Fatalf("after the worker's stop: %s, %v", job.Status, err)
			}
			b.gate.hold(3)
			b.startWorker()
			awaitJob(t, b.api, job.ID, func(j exportclient.Job) bool { return j.RowsWritten == 30 })
			b.restartGateway()
			b.gate.release()
			if job = awaitJob(t, b.api, job.ID, ended); job.Status != export.Succeeded || job.Receipt.Written != 60 {
				t.Fatalf("in the end: %s, %+v", job.Status, job.Failure)
			}
			b.exec("UPDATE export_jobs SET expires_at = ?", time.Now().UTC().Add(-time.Minute))
			if job, err = b.api.Get(t.Context(), job.ID); err != nil || job.Status != export.Expired {
				t.Errorf("past its time: %s, %v", job.Status, err)
			}
			p := b.user(browser.Options{})
			p.Open(b.url + "/api/v1/reservations/1?_fields=id")
			if got := p.Text("body"); got != `{"id":1}` {
				t.Errorf("the user reads %s", got)
			}
			b.stopGateway()
		})
	}
}
