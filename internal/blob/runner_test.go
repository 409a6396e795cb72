package blob_test

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/pool"
	"rowmill/internal/table"
)

// wideRows is a dataset of rows of 32 kB, ten a page.
type wideRows struct {
	rows    int
	fetched atomic.Int64 // pages
}

const wideText = 32_000

func (s *wideRows) Snapshot(context.Context, access.Scope, export.Request) (export.Snapshot, error) {
	snapshot := export.Snapshot{At: time.Now(), Total: int64(s.rows)}
	for first := 0; first < s.rows; first += 10 {
		snapshot.Pages = append(snapshot.Pages, export.PageToken{Rows: 10, Token: []byte{byte(first / 10)}})
	}
	return snapshot, nil
}

func (s *wideRows) Fetch(_ context.Context, _ access.Scope, token export.PageToken, _ []string) (export.Page, error) {
	s.fetched.Add(1)
	var page export.Page
	for i := range token.Rows {
		n := int(token.Token[0])*10 + i + 1
		text := hex.EncodeToString(content(wideText / 2))
		page.Rows = append(page.Rows, table.Row{Key: int64(n), Values: []table.Value{table.TextOf(text)}})
	}
	return page, nil
}

// ledger is the table of one job that nobody else wants, and what exports of wideRows have cost.
type ledger struct{ file *export.File }

func (*ledger) Report(context.Context, export.Fence, export.Progress, time.Time) error { return nil }
func (*ledger) Fail(context.Context, export.Fence, export.Failure) error               { return nil }
func (*ledger) Put(context.Context, export.Fence, export.RowSet) error                 { return nil }

func (*ledger) Release(context.Context, export.Fence, time.Time, *export.Failure) error { return nil }

func (l *ledger) Succeed(_ context.Context, _ export.Fence, f export.File, _ export.Receipt, _, _ time.Time) error {
	l.file = &f
	return nil
}

func (*ledger) Measured(context.Context, string, sheet.Format) ([]export.Measured, error) {
	return []export.Measured{{Rows: 1000, Columns: 1, Bytes: 1000 * wideText, Took: time.Second}}, nil
}

// export runs an attempt of a job on the store.
func (s fixture) export(t *testing.T, rows *wideRows, id string, attempt int) (*export.File, error) {
	t.Helper()
	jobs := new(ledger)
	columns := []export.Column{{Key: "text", Titles: map[string]string{"en": "Text"}, Type: table.Text, Fields: []string{"text"}}}
	runner, err := export.NewRunner(export.Config{
		Datasets: []export.Dataset{{Name: "wide", Columns: columns, Source: rows}}, Attempts: jobs, Files: s.Store, RowSets: jobs, Measures: jobs,
		Logger: slog.New(slog.DiscardHandler), Fetch: pool.New(2), Encode: pool.New(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = runner.Run(t.Context(), export.Job{ID: id, Attempt: attempt, Status: export.Running,
		Request: export.Request{Dataset: "wide", Format: sheet.CSV, Columns: []string{"text"}, Language: "en", TimeZone: "UTC"}})
	return jobs.file, err
}

// An export whose store fails at the end fails in words and leaves nothing, not even
// the whole file whose answer was lost; the next attempt succeeds.
func TestAnExportWhoseStoreFailsAtItsEnd(t *testing.T) {
	for name, fail := range map[string]s3Fault{"cut off": cutOff, "answered with 500": answer500, "answer lost": loseAnswer} {
		t.Run(name, func(t *testing.T) {
			var failed atomic.Bool
			s := newS3(t, func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
				if !completion(r) || !failed.CompareAndSwap(false, true) {
					return false
				}
				fail(w, r, s3)
				return true
			})
			rows := &wideRows{rows: 700}
			file, err := s.export(t, rows, "job", 1)
			if !failed.Load() || fault.KindOf(err) != fault.Unavailable || fault.Message(err) != unfinished || file != nil {
				t.Errorf("published %+v, %v", file, err)
			}
			if left := s.residue(t); len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
			file, err = s.export(t, rows, "job", 2)
			if err != nil || file == nil || file.Size < 700*wideText {
				t.Errorf("the next attempt: %+v, %v", file, err)
			}
			if diff := cmp.Diff([]string{"exports/job.2.csv"}, s.residue(t)); diff != "" {
				t.Errorf("after it (-want +got):\n%s", diff)
			}
		})
	}
}
