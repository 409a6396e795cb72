package gateway_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rowmill/export"
	"rowmill/gateway"
	"rowmill/signin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a-token-for-tests"

var today = time.Date(2026, 11, 30, 20, 30, 0, 0, time.UTC) // the 1st of December in Seoul

// bearers know the developer's token alone.
func bearers(t *testing.T) gateway.Identity {
	t.Helper()
	s, err := signin.New(t.Context(), signin.Config{StaticToken: token})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world is a gateway and what stands around it.
type world struct {
	*gateway.Server
	jobs         *fakeJobs
	board        *fakeBoard
	queue        *fakeQueue
	reservations *fakeReservations
	files        *fakeFiles
	log          *logged
	home         *fakeHome
	cfg          gateway.Config
}

func newWorld(t *testing.T, change func(*world, *gateway.Config)) *world {
	t.Helper()
	w := &world{
		jobs: newJobs(), board: &fakeBoard{workers: export.Workers{Alive: 1, LastSeen: today}}, queue: &fakeQueue{},
		home: &fakeHome{}, reservations: &fakeReservations{total: 100}, files: &fakeFiles{files: map[string][]byte{}}, log: &logged{},
	}
	cfg := gateway.Config{
		Datasets: []export.Dataset{reservationsDataset()}, Identity: bearers(t),
		Logger:       slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:          func() time.Time { return today },
		PollInterval: time.Millisecond,
	}
	if change != nil {
		change(w, &cfg)
	}
	cfg.Jobs, cfg.Board, cfg.Queue, cfg.Reservations, cfg.Files, cfg.Home = w.jobs, w.board, w.queue, w.reservations, w.files, w.home
	server, err := gateway.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Server, w.cfg = server, cfg
	return w
}

// call sends a request as the developer; header is pairs of name and value, and
// an empty value takes the header away.
func (w *world) call(method, target, body string, header ...string) *httptest.ResponseRecorder {
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
		if pair[1] == "" {
			r.Header.Del(pair[0])
		}
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func decode[T any](t *testing.T, r io.Reader) T {
	t.Helper()
	var v T
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		t.Fatalf("answer is no JSON: %v", err)
	}
	return v
}

// wantProblem checks an error answer and gives its problem.
func wantProblem(t *testing.T, rec *httptest.ResponseRecorder, status int, kind string) gateway.Problem {
	t.Helper()
	if rec.Code != status || rec.Header().Get("Content-Type") != "application/problem+json" {
		t.Fatalf("got %d %s, want a %d problem\n%s", rec.Code, rec.Header().Get("Content-Type"), status, rec.Body)
	}
	p := decode[gateway.Problem](t, rec.Body)
	if p.Type != "urn:rowmill:problem:"+kind || p.Status != status || p.Title == "" || p.Detail == "" || p.Message != p.Detail {
		t.Errorf("problem %+v, want kind %s and status %d, with title, detail and the same message", p, kind, status)
	}
	if p.RequestID == "" || p.RequestID != rec.Header().Get("X-Request-Id") {
		t.Errorf("problem has request id %q, header %q", p.RequestID, rec.Header().Get("X-Request-Id"))
	}
	return p
}

// messages gives the problem's items by location, or by name where none is known.
func messages(p gateway.Problem) map[string]string {
	m := map[string]string{}
	for _, e := range p.Errors {
		at := e.Location
		if at == "" {
			at = e.Name
		}
		m[at] = e.Message
	}
	return m
}

// jobIn gives a job of the developer's in the status.
func jobIn(status export.Status) export.Job {
	j := export.Job{
		ID: "job-" + string(status), RequestedBy: gateway.Subject, Queue: export.QueueSmall, Status: status,
		Request:   export.Request{Dataset: "reservations", Format: "xlsx", Columns: []string{"id"}, Language: "ko", TimeZone: "UTC", FileName: "예약목록_2026-11.xlsx"},
		CreatedAt: today.Add(-time.Hour), RowsExpected: 1000,
	}
	switch status {
	case export.Running:
		j.Phase, j.RowsWritten, j.Attempt = export.PhasePublish, 1000, 1
	case export.Failed:
		j.Failure = &export.Failure{Code: "source-unavailable", Message: "The rows could not be read."}
	case export.Succeeded, export.Expired:
		j.File = &export.File{Key: "k", Size: int64(len(fileBytes)), SHA256: fileSHA256}
		j.Receipt = &export.Receipt{Expected: 1000, Written: 1000}
		j.RowsWritten, j.FinishedAt, j.ExpiresAt = 1000, today.Add(-time.Minute), today.Add(time.Hour)
	}
	return j
}

func withJobs(jobs ...export.Job) func(*world, *gateway.Config) {
	return func(w *world, _ *gateway.Config) {
		w.jobs = newJobs(jobs...)
		w.files.files["k"] = fileBytes
	}
}

func TestNewNamesEverythingThatIsMissing(t *testing.T) {
	_, err := gateway.New(gateway.Config{DefaultTimeZone: "Local", DefaultLanguage: "fr", BaseURL: "http://x/", PollInterval: -1})
	if err == nil {
		t.Fatal("an empty config was accepted")
	}
	for _, what := range []string{"Jobs", "Board", "Queue", "Reservations", "Files", "Datasets", "Identity", "DefaultTimeZone", "DefaultLanguage", "BaseURL", "PollInterval"} {
		if !strings.Contains(err.Error(), what) {
			t.Errorf("error does not name %s: %v", what, err)
		}
	}
}
