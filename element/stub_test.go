package element_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rowmill/element"
	"rowmill/export"
	"rowmill/gateway"
)

// stub is a gateway that speaks the real shapes and does what the test says. Its
// one job changes when the test sets it.
type stub struct {
	*httptest.Server

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	view    gateway.JobView
	jobs    int // how many were made
	streams int // open now
	calls   []call

	// answers stand in for the stub's own, by "METHOD path"; the first that there is
	// is taken away and used.
	answers map[string][]http.HandlerFunc
	pages   map[string]string // by path

	permissions []string
	preflight   map[string]any
	token       string // if set, calls without it are refused
	down        bool   // hangs up on every call of the API
}

// call is what the stub was asked.
type call struct {
	method, path, body, key, authorization, origin string
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{
		changed: make(chan struct{}), answers: map[string][]http.HandlerFunc{}, pages: map[string]string{},
		permissions: []string{"reservations:read", "exports:create"},
		preflight: map[string]any{
			"rows": 44224, "sheets": 1, "bytes": 5123456, "seconds": 4.2, "personal_columns": []string{},
			"reason_required": false, "max_rows": 0, "warnings": []any{},
		},
	}
	mux := http.NewServeMux()
	module := http.StripPrefix("/assets/", http.FileServerFS(element.Files()))
	mux.HandleFunc("/assets/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*") // pages of other origins load it
		module.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /page.js", serve("text/javascript", pageScript))
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]any{"subject": "mina", "permissions": s.permissions})
	})
	mux.HandleFunc("GET /api/v1/datasets/reservations/columns", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, catalog()) })
	mux.HandleFunc("POST /api/v1/exports/preflight", s.estimate)
	mux.HandleFunc("POST /api/v1/exports", s.create)
	mux.HandleFunc("POST /api/v1/exports/{id}/again", s.create)
	mux.HandleFunc("GET /api/v1/exports/{id}", s.get)
	mux.HandleFunc("GET /api/v1/exports/{id}/events", s.events)
	mux.HandleFunc("DELETE /api/v1/exports/{id}", s.cancel)
	mux.HandleFunc("GET /api/v1/exports/{id}/file", serve("text/csv", "a,b\r\n"))
	mux.HandleFunc("POST /api/v1/exports/{id}/link", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusCreated, map[string]string{"url": "/api/v1/files/signed-" + r.PathValue("id")})
	})
	mux.HandleFunc("GET /api/v1/files/{token}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.csv")
		serve("text/csv", "a,b\r\n")(w, r)
	})
	mux.HandleFunc("/", s.page)
	s.Server = httptest.NewServer(s.around(mux))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// around records the call, refuses strangers, and lets the test answer instead.
func (s *stub) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		name := r.Method + " " + r.URL.Path
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method, r.URL.Path, string(body), r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), r.Header.Get("Origin")})
		var answer http.HandlerFunc
		if waiting := s.answers[name]; len(waiting) > 0 {
			answer, s.answers[name] = waiting[0], waiting[1:]
		}
		token, down := s.token, s.down
		s.mu.Unlock()
		api := strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/api/v1/files/")
		switch {
		case api && down:
			panic(http.ErrAbortHandler)
		case answer != nil:
			answer(w, r)
		case api && token != "" && r.Header.Get("Authorization") != "Bearer "+token:
			problem(http.StatusUnauthorized, "Send your token.", "")(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// setDown cuts the API off, or brings it back.
func (s *stub) setDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.CloseClientConnections()
	}
}

// instead answers the next calls of that name, one each.
func (s *stub) instead(name string, answers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[name] = append(s.answers[name], answers...)
}

func (s *stub) count(method, path string) int { return len(s.asked(method, path)) }

// asked gives the calls whose path starts so.
func (s *stub) asked(method, path string) (found []call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if (method == "" || c.method == method) && strings.HasPrefix(c.path, path) {
			found = append(found, c)
		}
	}
	return found
}

// created gives the calls that ask for a job.
func (s *stub) created() []call {
	return slices.DeleteFunc(s.asked("POST", "/api/v1/exports"), func(c call) bool { return c.path != "/api/v1/exports" })
}

// set changes the job and tells those who watch it.
func (s *stub) set(change func(v *gateway.JobView)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.view)
	s.view.Links = gateway.Links{Self: "/api/v1/exports/" + s.view.ID}
	switch {
	case !s.view.Status.Final():
		s.view.Links.Events, s.view.Links.Cancel = s.view.Links.Self+"/events", s.view.Links.Self
	case s.view.Status == export.Succeeded:
		s.view.Links.File = s.view.Links.Self + "/file"
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stub) now() (gateway.JobView, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, s.changed
}

func (s *stub) estimate(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Format   string
		Personal bool
	}
	_ = json.NewDecoder(r.Body).Decode(&order)
	answer := map[string]any{}
	s.mu.Lock()
	maps.Copy(answer, s.preflight)
	s.mu.Unlock()
	if order.Format == "csv" {
		answer["warnings"] = []any{}
	}
	answer["reason_required"] = order.Personal
	write(w, http.StatusOK, answer)
}

func (s *stub) create(w http.ResponseWriter, r *http.Request) {
	var order gateway.Order
	_ = json.NewDecoder(r.Body).Decode(&order) // of "again" there is none
	s.mu.Lock()
	s.jobs++
	id := fmt.Sprintf("job-%d", s.jobs)
	s.mu.Unlock()
	s.set(func(v *gateway.JobView) {
		*v = gateway.JobView{
			ID: id, Status: export.Queued, Place: 3, RowsExpected: 44224, Queue: export.QueueLarge, RequestedBy: "mina",
			CreatedAt: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
			Request:   export.Request{Dataset: "reservations", Format: order.Format, Columns: order.Columns, Language: order.Language},
		}
	})
	v, _ := s.now()
	w.Header().Set("Location", v.Links.Self)
	w.Header().Set("Retry-After", "1")
	write(w, http.StatusAccepted, v)
}

func (s *stub) get(w http.ResponseWriter, r *http.Request) {
	v, _ := s.now()
	if v.ID != r.PathValue("id") {
		problem(http.StatusNotFound, "There is no export.", "")(w, r)
		return
	}
	w.Header().Set("Retry-After", "0")
	write(w, http.StatusOK, v)
}

func (s *stub) cancel(w http.ResponseWriter, _ *http.Request) {
	s.set(func(v *gateway.JobView) { v.Status = export.Canceled })
	v, _ := s.now()
	write(w, http.StatusOK, v)
}

func (s *stub) events(w http.ResponseWriter, r *http.Request) {
	if v, _ := s.now(); v.ID != r.PathValue("id") {
		problem(http.StatusNotFound, "There is no export.", "")(w, r)
		return
	}
	s.open(1)
	defer s.open(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	for {
		v, changed := s.now()
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		_, err = fmt.Fprintf(w, "event: job\ndata: %s\n\n", data)
		if errors.Join(err, rc.Flush()) != nil || v.Status.Final() {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *stub) open(more int) (streams int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams += more
	return s.streams
}

func (s *stub) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	body, known := s.pages[r.URL.Path]
	s.mu.Unlock()
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' http://127.0.0.1:*")
	serve("text/html", body)(w, r)
}

func serve(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType+"; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(http.ErrAbortHandler) // the page has gone
	}
}

func problem(status int, detail, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(gateway.Problem{Type: "urn:rowmill:problem:x", Title: http.StatusText(status), Status: status, Detail: detail})
	}
}

func catalog() gateway.CatalogView {
	view := gateway.CatalogView{Dataset: "reservations"}
	for _, c := range []struct{ key, en, ko string }{
		{"id", "Id", "번호"}, {"code", "Code", "예약 번호"}, {"status", "Status", "상태"}, {"guest_name", "Guest", "투숙객"},
		{"guest_phone", "Phone", "전화번호"}, {"check_in", "Check-in", "체크인"}, {"check_out", "Check-out", "체크아웃"}, {"nights", "Nights", "박"},
		{"amount", "Amount", "금액"}, {"channel", "Channel", "채널"}, {"agent", "Agent", "에이전트"}, {"updated_at", "Updated", "수정 시각"},
	} {
		view.Columns = append(view.Columns, gateway.ColumnView{
			Key: c.key, Titles: map[string]string{"en": c.en, "ko": c.ko}, Type: "text", Default: c.key != "agent" && c.key != "updated_at",
		})
	}
	return view
}

// pageScript keeps what the page saw go wrong, and the element's events.
const pageScript = `
window.violations = []; window.events = [];
document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));
addEventListener('error', (e) => violations.push(String(e.message)));
addEventListener('unhandledrejection', (e) => violations.push('rejected: ' + e.reason));
for (const name of ['export-state', 'export-done']) document.addEventListener(name, (e) => events.push(name + ' ' + e.detail.status));
window.giveToken = async () => 'right';
window.$ = (selector, host = document.querySelector('export-button')) => host.shadowRoot.querySelector(selector);
window.text = (selector) => { const e = $(selector); return e && e.getClientRects().length ? e.innerText : ''; };
window.shown = (selector) => Boolean($(selector)?.getClientRects().length);
`
