package export_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryRowOnceInOrder(t *testing.T) {
	for _, pageSize := range []int{1, 7, 100, 250, 1000} {
		b := newBench(t, &source{total: 250, page: pageSize})
		if err := b.Run(t.Context(), csvJob()); err != nil {
			t.Fatalf("page size %d: %v", pageSize, err)
		}
		want := "\ufeff\"ID\",\"Guest\"\r\n"
		for n := range 250 {
			want += fmt.Sprintf("%d,\"guest\"\r\n", n+1)
		}
		if got := string(b.files.files["exports/job.1.csv"]); got != want {
			t.Errorf("page size %d: the file is %.200q…", pageSize, got)
		}
		r := b.attempts.receipt
		if r.Expected != 250 || r.Written != 250 || r.Distinct != 250 || r.DeletedMeanwhile != 0 || r.Bytes != int64(len(want)) || r.SHA256 != b.attempts.file.SHA256 {
			t.Errorf("page size %d: the receipt is %+v", pageSize, r)
		}
		if want := int64((250+pageSize-1)/pageSize)*2 + 1; r.Statements != want {
			t.Errorf("page size %d: the receipt counts %d statements, want %d", pageSize, r.Statements, want)
		}
	}
}

func TestAnXLSXFileHoldsWhatItsReceiptSays(t *testing.T) {
	b := newBench(t, &source{total: 250, page: 100})
	job := csvJob()
	job.Request.Format = sheet.XLSX
	if err := b.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	found, err := sheet.Verify(t.Context(), sheet.XLSX, mustOpen(t, b, b.attempts.file.Key), b.attempts.file.Size)
	if err != nil || found.Rows() != 250 || b.attempts.receipt.Sheets != 1 {
		t.Errorf("found %+v, %v; the receipt says %d sheets", found, err, b.attempts.receipt.Sheets)
	}
}

func mustOpen(t *testing.T, b *bench, key string) export.Reader {
	t.Helper()
	f, err := b.files.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNoRowsMakeAValidFile(t *testing.T) {
	for _, format := range []sheet.Format{sheet.CSV, sheet.XLSX} {
		b := newBench(t, &source{page: 10})
		job := csvJob()
		job.Request.Format = format
		if err := b.Run(t.Context(), job); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestRowsDeletedMeanwhileAreCountedAndLeaveNoGap(t *testing.T) {
	b := newBench(t, &source{total: 30, page: 10, fetch: func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
		return export.Page{Rows: rows[page:], Deleted: page}, nil // 0, 1 and 2 rows are gone
	}})
	job := csvJob()
	job.Request.Format = sheet.XLSX // its verification knows a missing row number
	if err := b.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if r := b.attempts.receipt; r.Expected != 30 || r.Written != 27 || r.DeletedMeanwhile != 3 {
		t.Errorf("the receipt is %+v", r)
	}
}

func TestLossesReachTheReceipt(t *testing.T) {
	b := newBench(t, &source{total: 20, page: 10, fetch: func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
		if page == 1 {
			rows[4].Values[1] = table.TextOf("a\x16b")
		}
		return export.Page{Rows: rows}, nil
	}})
	if err := b.Run(t.Context(), csvJob()); err != nil {
		t.Fatal(err)
	}
	l := b.attempts.receipt.Losses
	if l.Counts[sheet.Replaced] != 1 || len(l.Places) != 1 || l.Places[0].Row != 16 || l.Places[0].Column != "Guest" || l.Places[0].Key != 15 {
		t.Errorf("the receipt lists %+v", l)
	}
}

// Whatever goes wrong on the way: an error, nothing published, no file left.
func TestAFaultEndsInNoFile(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		set  func(*bench)
		want string
	}{
		{"the snapshot fails", func(b *bench) {
			b.source.snapshot = func() (export.Snapshot, error) { return export.Snapshot{}, broken }
		}, "broken"},
		{"a page fails", func(b *bench) {
			b.source.fetch = func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
				if page == 3 {
					return export.Page{}, broken
				}
				return export.Page{Rows: rows}, nil
			}
		}, "broken"},
		{"a page is short", func(b *bench) {
			b.source.fetch = func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
				return export.Page{Rows: rows[:len(rows)-page/9]}, nil
			}
		}, "rows are missing"},
		{"a page is empty, as at an end", func(b *bench) {
			b.source.fetch = func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
				if page == 9 {
					rows = nil
				}
				return export.Page{Rows: rows}, nil
			}
		}, "rows are missing"},
		{"a row comes twice", func(b *bench) {
			b.source.fetch = func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
				if page == 5 {
					rows[0].Key = 1
				}
				return export.Page{Rows: rows}, nil
			}
		}, "only 99 different"},
		{"the snapshot has fewer pages than rows", func(b *bench) {
			b.source.snapshot = func() (export.Snapshot, error) {
				return export.Snapshot{Total: 100, Pages: []export.PageToken{{Rows: 10, Token: []byte{0}}}}, nil
			}
		}, "100 rows, but 10 were written"},
		{"the source panics", func(b *bench) {
			b.source.fetch = func(context.Context, int, []table.Row) (export.Page, error) { panic("boom") }
		}, "panic: boom"},
		{"the store is full at the last bytes", func(b *bench) { b.files.limit = 1205 }, "full"},
		{"the store loses a byte", func(b *bench) { b.files.damage = func(p []byte) { p[len(p)/2] ^= 1 } }, "other bytes than it was given"},
		{"which rows are in the file cannot be stored", func(b *bench) { b.attempts.put = func() error { return broken } }, "broken"},
		{"the job has been canceled", func(b *bench) { b.attempts.cancel() }, export.ErrFenced.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, &source{total: 100, page: 10})
			c.set(b)
			err := b.Run(t.Context(), csvJob())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
			if b.attempts.file != nil || len(b.files.files) != 0 {
				t.Errorf("published %+v, files left: %d", b.attempts.file, len(b.files.files))
			}
		})
	}
}

// The row is written, and the connection breaks before the answer is there.
func TestAPublishedFileOutlivesALostAnswer(t *testing.T) {
	b := newBench(t, &source{total: 100, page: 10})
	b.attempts.succeed = fault.New(fault.Unavailable, "The database does not answer.")
	if err := b.Run(t.Context(), csvJob()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got error %v, want the database's", err)
	}
	if _, ok := b.files.files[b.attempts.file.Key]; !ok {
		t.Error("the job has succeeded, and its file was deleted")
	}
}

func TestACanceledJobStopsWithinAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b = newBench(t, &source{total: 100, page: 10, fetch: func(ctx context.Context, page int, rows []table.Row) (export.Page, error) {
			if page == 4 {
				b.attempts.cancel()
				<-ctx.Done() // an API that never answers
				return export.Page{}, context.Cause(ctx)
			}
			return export.Page{Rows: rows}, nil
		}})
		began := time.Now()
		err := b.Run(t.Context(), csvJob())
		if !errors.Is(err, export.ErrFenced) || len(b.files.files) != 0 {
			t.Errorf("got %v, %d files left", err, len(b.files.files))
		}
		if took := time.Since(began); took > 20*time.Millisecond { // two reports
			t.Errorf("it took %v", took)
		}
	})
}

func TestAJobWhoseLeaseCannotBeRenewedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &source{total: 10, page: 10, fetch: func(ctx context.Context, _ int, _ []table.Row) (export.Page, error) {
			<-ctx.Done()
			return export.Page{}, context.Cause(ctx)
		}})
		b.attempts.report = func() error { return fault.New(fault.Unavailable, "The database does not answer.") }
		began := time.Now()
		if err := b.Run(t.Context(), csvJob()); !errors.Is(err, export.ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took < time.Second || took > time.Second+30*time.Millisecond {
			t.Errorf("it gave up after %v, the lease is 1 s", took)
		}
	})
}

func TestProgressComesAtItsPaceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &source{total: 100, page: 10, fetch: func(_ context.Context, _ int, rows []table.Row) (export.Page, error) {
			time.Sleep(25 * time.Millisecond)
			return export.Page{Rows: rows}, nil
		}})
		began := time.Now()
		if err := b.Run(t.Context(), csvJob()); err != nil {
			t.Fatal(err)
		}
		if most := int(time.Since(began)/(10*time.Millisecond)) + 1; len(b.attempts.reports) > most || len(b.attempts.reports) < 5 {
			t.Errorf("%d reports in %v", len(b.attempts.reports), time.Since(began))
		}
		last := int64(0)
		for _, p := range b.attempts.reports {
			if p.Written < last {
				t.Errorf("progress went back from %d to %d", last, p.Written)
			}
			last = p.Written
		}
	})
}

func TestPercentIs100ExactlyWhenTheFileIsThere(t *testing.T) {
	for _, c := range []struct {
		job  export.Job
		want int
	}{
		{export.Job{Status: export.Queued, RowsExpected: 10}, 0},
		{export.Job{Status: export.Running}, 0},
		{export.Job{Status: export.Running, RowsExpected: 1000, RowsWritten: 500}, 50},
		{export.Job{Status: export.Running, RowsExpected: 1000, RowsWritten: 1000, Phase: export.PhaseVerify}, 99},
		{export.Job{Status: export.Succeeded, RowsExpected: 0}, 100},
		{export.Job{Status: export.Failed, RowsExpected: 10, RowsWritten: 10}, 99},
	} {
		if got := c.job.Percent(); got != c.want {
			t.Errorf("%s with %d of %d rows: %d %%, want %d", c.job.Status, c.job.RowsWritten, c.job.RowsExpected, got, c.want)
		}
	}
}

func TestARequestThatTheCatalogNoLongerHasFails(t *testing.T) {
	for name, change := range map[string]func(*export.Request){
		"dataset": func(r *export.Request) { r.Dataset = "gone" },
		"column":  func(r *export.Request) { r.Columns = []string{"id", "gone"} },
		"zone":    func(r *export.Request) { r.TimeZone = "Mars/Base" },
	} {
		b := newBench(t, &source{total: 1, page: 1})
		job := csvJob()
		change(&job.Request)
		if err := b.Run(t.Context(), job); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestColumnsComeInTheOrderAsked(t *testing.T) {
	b := newBench(t, &source{total: 2, page: 2, fetch: func(_ context.Context, _ int, rows []table.Row) (export.Page, error) {
		for i := range rows { // the source answers in the order of the fields asked: guest, id
			rows[i].Values[0], rows[i].Values[1] = rows[i].Values[1], rows[i].Values[0]
		}
		return export.Page{Rows: rows}, nil
	}})
	job := csvJob()
	job.Request.Columns = []string{"guest", "id"}
	if err := b.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if got, want := string(b.files.files["exports/job.1.csv"]), "\ufeff\"Guest\",\"ID\"\r\n\"guest\",1\r\n\"guest\",2\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnIncompleteConfigSaysAllThatIsMissing(t *testing.T) {
	_, err := export.NewRunner(export.Config{Lease: time.Second, ReportEvery: time.Second})
	for _, want := range []string{"Datasets", "Attempts", "Files", "RowSets", "Logger", "Fetch", "Encode", "Lease"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
}
