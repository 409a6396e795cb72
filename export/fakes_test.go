package export_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/pool"
	"rowmill/internal/table"
)

// source gives rows 1 to total in pages; hooks change what comes back.
type source struct {
	total, page int
	snapshot    func() (export.Snapshot, error)
	fetch       func(ctx context.Context, page int, rows []table.Row) (export.Page, error)

	mu   sync.Mutex
	seen []access.Scope // of each call
}

func (s *source) see(scope access.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, scope)
}

func (s *source) Snapshot(_ context.Context, scope access.Scope, _ export.Request) (export.Snapshot, error) {
	s.see(scope)
	if s.snapshot != nil {
		return s.snapshot()
	}
	snap := export.Snapshot{At: start, Total: int64(s.total), Statements: 1}
	for first := 0; first < s.total; first += s.page {
		snap.Pages = append(snap.Pages, export.PageToken{Rows: min(s.page, s.total-first), Token: []byte{byte(first / s.page)}})
	}
	return snap, nil
}

func (s *source) Fetch(ctx context.Context, scope access.Scope, t export.PageToken, fields []string) (export.Page, error) {
	s.see(scope)
	first := int(t.Token[0]) * s.page
	rows := make([]table.Row, t.Rows)
	for i := range rows {
		rows[i] = row(first + i + 1)
	}
	if s.fetch != nil {
		return s.fetch(ctx, int(t.Token[0]), rows)
	}
	return export.Page{Rows: rows, Statements: 2}, nil
}

func row(n int) table.Row {
	return table.Row{Key: int64(n), Values: []table.Value{table.IntegerOf(int64(n)), table.TextOf("guest")}}
}

// attempts is the job table of one job.
type attempts struct {
	mu      sync.Mutex
	fenced  bool
	reports []export.Progress
	report  func() error // nil: stored
	succeed error        // the answer to a publishing that was stored
	file    *export.File
	receipt *export.Receipt
	put     func() error   // nil: stored
	rows    *export.RowSet // stored before the file was published
	format  sheet.Format   // of the job, as Get gives it
}

// Put implements export.RowSets.
func (a *attempts) Put(_ context.Context, _ export.Fence, set export.RowSet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.put != nil {
		return a.put()
	}
	if a.file == nil {
		a.rows = &set
	}
	return nil
}

func (a *attempts) Report(_ context.Context, _ export.Fence, p export.Progress, _ time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fenced {
		return export.ErrFenced
	}
	if a.report != nil {
		return a.report()
	}
	a.reports = append(a.reports, p)
	return nil
}

func (a *attempts) Succeed(_ context.Context, _ export.Fence, f export.File, r export.Receipt, _, _ time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fenced {
		return export.ErrFenced
	}
	a.file, a.receipt = &f, &r
	return a.succeed
}

func (a *attempts) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fenced = true
}

func (*attempts) Fail(context.Context, export.Fence, export.Failure) error {
	return errors.New("a run does not fail jobs")
}

func (*attempts) Release(context.Context, export.Fence, time.Time, *export.Failure) error {
	return errors.New("a run does not release jobs")
}

// Get implements export.JobReader.
func (a *attempts) Get(_ context.Context, id string) (export.Job, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := csvJob()
	j.ID, j.Status, j.Request.Format = id, export.Running, cmp.Or(a.format, j.Request.Format)
	if a.file != nil {
		j.Status = export.Succeeded
	} else if a.fenced {
		j.Status = export.Canceled
	}
	return j, nil
}

// memory is a file store in memory.
type memory struct {
	mu     sync.Mutex
	files  map[string][]byte
	limit  int             // bytes it takes before it is full; 0: no end
	damage func([]byte)    // what happens to a stored file
	meta   export.FileMeta // of the last file
}

func (m *memory) Put(ctx context.Context, key string, meta export.FileMeta, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(limited{&b, m.limit}); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.damage != nil {
		m.damage(b.Bytes())
	}
	m.files[key], m.meta = b.Bytes(), meta
	return nil
}

var errFull = errors.New("the store is full")

type limited struct {
	b     *bytes.Buffer
	limit int
}

func (l limited) Write(p []byte) (int, error) {
	if l.limit > 0 && l.b.Len()+len(p) > l.limit {
		return 0, errFull
	}
	return l.b.Write(p)
}

type stored struct{ *bytes.Reader }

func (stored) Close() error { return nil }

// Keys implements export.SegmentFiles.
func (m *memory) Keys(_ context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, key := range m.keys(prefix) {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// keys gives the keys that start with prefix, in order.
func (m *memory) keys(prefix string) (found []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.files {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

func (m *memory) Open(_ context.Context, key string) (export.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[key]; !ok {
		return nil, fault.New(fault.NotFound, "There is no file %s.", key)
	}
	return stored{bytes.NewReader(m.files[key])}, nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, key)
	return nil
}

func fixed() time.Time { return start }

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// bench is a runner and what stands around it.
type bench struct {
	*export.Runner
	source   *source
	attempts *attempts
	files    *memory
}

func newBench(t *testing.T, s *source, set ...func(*export.Config)) *bench {
	t.Helper()
	files := &memory{files: map[string][]byte{}}
	b := newBenchOn(t, s, files, nil, append([]func(*export.Config){func(c *export.Config) { c.Segments.Files = files }}, set...)...)
	b.files = files
	return b
}

// newBenchOn is newBench with another file store, and what exports have cost.
func newBenchOn(t *testing.T, s *source, files export.Files, measures export.Measures, set ...func(*export.Config)) *bench {
	t.Helper()
	b := &bench{source: s, attempts: &attempts{}}
	columns := []export.Column{
		{Key: "id", Titles: map[string]string{"en": "ID", "ko": "번호"}, Type: table.Integer, Width: 8, Fields: []string{"id"}},
		{Key: "guest", Titles: map[string]string{"en": "Guest", "ko": "고객"}, Type: table.Text, Width: 8, Fields: []string{"guest"}, Personal: "name"},
	}
	c := export.Config{
		Datasets: []export.Dataset{{Name: "rows", Columns: columns, Source: s}}, Attempts: b.attempts, Files: files, RowSets: b.attempts, Measures: measures, Logger: slog.New(slog.DiscardHandler),
		Fetch: pool.New(3), Encode: pool.New(2), Window: 4, ReportEvery: 10 * time.Millisecond, Lease: time.Second,
	}
	c.Segments.Jobs = b.attempts
	for _, f := range set {
		f(&c)
	}
	var err error
	if b.Runner, err = export.NewRunner(c); err != nil {
		t.Fatal(err)
	}
	return b
}

func csvJob() export.Job {
	return export.Job{ID: "job", Attempt: 1, Status: export.Running, RequestedBy: "developer",
		Request: export.Request{Dataset: "rows", Format: "csv", Columns: []string{"id", "guest"}, Language: "en", TimeZone: "Asia/Seoul"}}
}
