package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/pool"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
)

// watcher notes what it is told.
type watcher struct {
	mu        sync.Mutex
	phases    []export.Phase
	rows      int64
	published []export.Receipt
}

func (w *watcher) PhaseEnded(p export.Phase, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phases = append(w.phases, p)
}

func (w *watcher) RowsWritten(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows += n
}

func (w *watcher) Published(r export.Receipt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.published = append(w.published, r)
}

// watchedRun runs a job of 25 rows in pages of one and gives what was told and logged.
func watchedRun(t *testing.T, change func(*bench)) (*watcher, []string, error) {
	t.Helper()
	b := newBench(t, &source{total: 25, page: 1})
	if change != nil {
		change(b)
	}
	w, log := &watcher{}, &bytes.Buffer{}
	runner, err := export.NewRunner(export.Config{
		Datasets: []export.Dataset{{Name: "rows", Source: b.source, Columns: []export.Column{{Key: "id", Type: table.Integer, Fields: []string{"id"}}, {Key: "guest", Type: table.Text, Fields: []string{"guest"}}}}},
		Attempts: b.attempts, Files: b.files, RowSets: b.attempts, Observer: w, Logger: telemetry.NewLogger(log, "json", slog.LevelInfo),
		Fetch: pool.New(3), Encode: pool.New(2), ReportEvery: 10 * time.Millisecond, Lease: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = runner.Run(telemetry.WithJob(telemetry.WithTraceParent(t.Context(), ""), "job"), csvJob())
	var messages []string
	for line := range strings.Lines(log.String()) {
		var said struct {
			Msg     string
			JobID   string `json:"job_id"`
			TraceID string `json:"trace_id"`
			Attempt int
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		if said.JobID != "job" || said.TraceID == "" || said.Attempt != 1 {
			t.Errorf("a line does not tell its job, attempt and trace: %s", line)
		}
		messages = append(messages, said.Msg)
	}
	return w, messages, err
}

// A run tells one line a phase, not one a page.
func TestARunTellsItsPhases(t *testing.T) {
	w, lines, err := watchedRun(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"snapshot taken", "fetch done", "file verified", "file published"}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]export.Phase{export.PhaseSnapshot, export.PhaseFetch, export.PhaseVerify, export.PhasePublish}, w.phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if w.rows != 25 || len(w.published) != 1 || w.published[0].Written != 25 {
		t.Errorf("%d rows, published %+v", w.rows, w.published)
	}
}

// What has failed is not told as done.
func TestAPhaseThatFailsIsNotTold(t *testing.T) {
	w, lines, err := watchedRun(t, func(b *bench) {
		b.source.fetch = func(context.Context, int, []table.Row) (export.Page, error) { return export.Page{}, errFull }
	})
	if err == nil {
		t.Fatal("the run did not fail")
	}
	if diff := cmp.Diff([]string{"snapshot taken"}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if len(w.phases) != 1 || len(w.published) != 0 {
		t.Errorf("phases %v, published %v", w.phases, w.published)
	}
}
