package reservationhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inTheClear is the scope of the tests that are not about scopes.
var inTheClear = access.Scope{Personal: true}

const testToken = "a service token"

var snapshotAt = time.Date(2026, 11, 30, 12, 0, 0, 123_456_789, time.UTC)

// fakeStore is a reservation.Store over ids whose rows are made up from them. A
// hook, where set, stands in for the call.
type fakeStore struct {
	ids    []int64 // in order
	absent map[int64]bool

	mu    sync.Mutex
	last  reservation.Query
	seen  reservation.Window
	scope access.Scope // of the last batch

	snapshotHook func(ctx context.Context, each func([]int64) error) (reservation.Snapshot, error)
	batchHook    func(ctx context.Context, ids []int64, fields []reservation.Field) (reservation.Batch, error)
	listHook     func(ctx context.Context) (reservation.List, error)
}

func (f *fakeStore) Snapshot(ctx context.Context, q reservation.Query, each func([]int64) error) (reservation.Snapshot, error) {
	telemetry.StatementSent(ctx)
	f.mu.Lock()
	f.last = q
	f.mu.Unlock()
	if f.snapshotHook != nil {
		return f.snapshotHook(ctx, each)
	}
	for run := range slices.Chunk(f.ids, 100) {
		if err := each(slices.Clone(run)); err != nil {
			return reservation.Snapshot{}, err
		}
	}
	return reservation.Snapshot{At: snapshotAt, Total: int64(len(f.ids))}, nil
}

func (f *fakeStore) Batch(ctx context.Context, scope access.Scope, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
	for range 1 + len(partsOf(fields)) {
		telemetry.StatementSent(ctx)
	}
	f.mu.Lock()
	f.scope = scope
	f.mu.Unlock()
	if f.batchHook != nil {
		return f.batchHook(ctx, ids, fields)
	}
	var b reservation.Batch
	seen := map[int64]bool{}
	for _, id := range ids {
		if seen[id] {
			return b, fault.InvalidFields("The ids are not valid.", fault.Field{Name: "ids", Detail: fmt.Sprintf("%d is asked twice", id)})
		}
		seen[id] = true
		if f.absent[id] {
			b.Absent = append(b.Absent, id)
			continue
		}
		b.Rows = append(b.Rows, fakeRow(id, fields))
	}
	return b, nil
}

func (f *fakeStore) List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	telemetry.StatementSent(ctx)
	f.mu.Lock()
	f.last, f.seen = q, w
	f.mu.Unlock()
	if f.listHook != nil {
		return f.listHook(ctx)
	}
	list := reservation.List{Total: -1}
	if withTotal {
		list.Total = int64(len(f.ids))
	}
	from := int(min(w.Offset, int64(len(f.ids))))
	if w.After != nil {
		from = slices.Index(f.ids, *w.After) + 1
	}
	for _, id := range f.ids[from:min(len(f.ids), from+w.Limit)] {
		list.Rows = append(list.Rows, fakeRow(id, fields))
	}
	return list, nil
}

func (f *fakeStore) query() (reservation.Query, reservation.Window) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.seen
}

func partsOf(fields []reservation.Field) map[reservation.Part]bool {
	parts := map[reservation.Part]bool{}
	for _, f := range fields {
		if f.Part != reservation.Main {
			parts[f.Part] = true
		}
	}
	return parts
}

func fakeRow(id int64, fields []reservation.Field) table.Row {
	row := table.Row{Key: id, Values: make([]table.Value, len(fields))}
	for i, f := range fields {
		switch f.Type {
		case table.Integer:
			row.Values[i] = table.IntegerOf(id)
		case table.Decimal:
			row.Values[i] = table.DecimalOf(id, f.Scale)
		case table.Date:
			row.Values[i] = table.DateOf(id % 10_000)
		case table.Time:
			row.Values[i] = table.TimeOfMicro(id % 1_000_000)
		case table.Bool:
			row.Values[i] = table.BoolOf(id%2 == 0)
		default:
			row.Values[i] = table.TextOf(fmt.Sprintf("%s %d", f.Key, id))
		}
	}
	return row
}

func fakeRows(ids []int64, fields []reservation.Field) (rows []table.Row) {
	for _, id := range ids {
		rows = append(rows, fakeRow(id, fields))
	}
	return rows
}

func upTo(n int64) (ids []int64) {
	for id := range n {
		ids = append(ids, id+1)
	}
	return ids
}

func fieldsOf(t testing.TB, keys ...string) []reservation.Field {
	t.Helper()
	fields, err := reservation.FieldsOf(keys)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// safeBuffer is a log that a test may read while the server writes.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serve runs the API over real HTTP and gives its address and its log.
func serve(t testing.TB, store reservation.Store) (string, *safeBuffer) {
	t.Helper()
	log := new(safeBuffer)
	server := httptest.NewServer(NewServer(Config{Store: store, Token: testToken, Logger: telemetry.NewLogger(log, "text", slog.LevelDebug)}))
	t.Cleanup(server.Close)
	return server.URL, log
}

// newTestClient gives a client that does not wait long between tries.
func newTestClient(t testing.TB, base string) *Client {
	t.Helper()
	c := NewClient(ClientConfig{BaseURL: base, Token: testToken, Attempts: 3, FirstWait: time.Millisecond, MaxWait: 5 * time.Millisecond})
	t.Cleanup(c.Close)
	return c
}

// post calls the API by hand, with the right token.
func post(t *testing.T, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	return send(t, http.MethodPost, url, body, append([]string{"Authorization", "Bearer " + testToken}, header...)...)
}

func send(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if len(body) > maxRequest { // else the answer races the reset of a connection whose body nobody reads
		req.Header.Set("Expect", "100-continue")
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(answer)
}

func newRecorded(method, path, body string) (*http.Request, *httptest.ResponseRecorder) {
	return httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
}
