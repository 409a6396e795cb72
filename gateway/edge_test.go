package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/fault"
)

func TestOnlyTheBearerOfTheTokenGetsIn(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		name, authorization string
		status              int
		challenge           string
	}{
		{"nothing", "", 401, `Bearer realm="rowmill"`},
		{"another scheme", "Basic " + token, 401, `Bearer realm="rowmill"`},
		{"no token", "Bearer ", 401, `Bearer realm="rowmill"`},
		{"a wrong token", "Bearer " + token + "x", 401, `Bearer realm="rowmill", error="invalid_token"`},
		{"the token", "Bearer " + token, 200, ""},
		{"the scheme in another case", "bearer " + token, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := w.call("GET", "/api/v1/exports", "", "Authorization", c.authorization)
			if got := rec.Header().Get("WWW-Authenticate"); rec.Code != c.status || got != c.challenge {
				t.Fatalf("got %d, challenge %q", rec.Code, got)
			}
			if c.status == 401 {
				wantProblem(t, rec, 401, "unauthorized")
			}
		})
	}
	t.Run("a token in the query is none", func(t *testing.T) {
		wantProblem(t, w.call("GET", "/api/v1/exports?access_token="+token, "", "Authorization", ""), 401, "unauthorized")
	})
	t.Run("an unknown address says nothing to strangers", func(t *testing.T) {
		wantProblem(t, w.call("GET", "/nowhere", "", "Authorization", ""), 401, "unauthorized")
	})
	for _, open := range []string{"/livez", "/readyz", "/openapi.json"} {
		if rec := w.call("GET", open, "", "Authorization", ""); rec.Code != 200 {
			t.Errorf("%s without a token: %d", open, rec.Code)
		}
	}
	if strings.Contains(w.log.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestEveryErrorIsAProblem(t *testing.T) {
	w := newWorld(t, nil)
	huge := `{"file_name":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct {
		name   string
		rec    *httptest.ResponseRecorder
		status int
		kind   string
	}{
		{"no such address", w.call("GET", "/nowhere", ""), 404, "not-found"},
		{"no such method", w.call("PATCH", "/api/v1/exports", ""), 405, "method-not-allowed"},
		{"no body", w.call("POST", "/api/v1/exports", ""), 400, "invalid"},
		{"no JSON", w.call("POST", "/api/v1/exports", "{"), 400, "invalid"},
		{"another media type", w.call("POST", "/api/v1/exports", "{}", "Content-Type", "text/xml"), 415, "unsupported-media-type"},
		{"a body past the bound", w.call("POST", "/api/v1/exports", huge), 413, "too-large"},
		{"a query past the bound", w.call("GET", "/api/v1/reservations?q="+strings.Repeat("x", 40_000), ""), 414, "too-large"},
		{"a query that cannot be read", w.call("GET", "/api/v1/reservations?q=%zz", ""), 400, "invalid"},
		{"an unknown parameter", w.call("GET", "/api/v1/exports?token=x", ""), 400, "invalid"},
		{"an id that is no number", w.call("GET", "/api/v1/reservations/x", ""), 400, "invalid"},
		{"an unknown job", w.call("GET", "/api/v1/exports/none", ""), 404, "not-found"},
		{"an unknown dataset", w.call("GET", "/api/v1/datasets/none/columns", ""), 404, "not-found"},
	} {
		t.Run(c.name, func(t *testing.T) { wantProblem(t, c.rec, c.status, c.kind) })
	}
	if allow := w.call("PATCH", "/api/v1/exports", "").Header().Get("Allow"); !strings.Contains(allow, "POST") {
		t.Errorf("405 with Allow %q", allow)
	}
}

func TestAFaultKindIsAStatus(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		kind       string
		retryAfter string
		logged     bool
	}{
		{fault.New(fault.Invalid, "m"), 400, "invalid", "", false},
		{fault.New(fault.Conflict, "m"), 409, "conflict", "", false},
		{fault.New(fault.Forbidden, "m"), 403, "forbidden", "", false},
		{fault.New(fault.Gone, "m"), 410, "gone", "", false},
		{fault.Wrap(errBroken, fault.Unavailable, "m"), 503, "unavailable", "5", true},
		{&fault.Error{Kind: fault.Overloaded, Message: "m", RetryAfter: 1500 * time.Millisecond}, 503, "overloaded", "2", true},
		{fmt.Errorf("query: %w", context.DeadlineExceeded), 503, "unavailable", "5", true},
		{errBroken, 500, "internal", "", true},
	} {
		t.Run(c.kind, func(t *testing.T) {
			w := newWorld(t, func(w *world, _ *gateway.Config) { w.reservations.err = c.err })
			rec := w.call("GET", "/api/v1/reservations?_end=1", "", "X-Request-Id", "req-7")
			body := rec.Body.String()
			wantProblem(t, rec, c.status, c.kind)
			if strings.Contains(body, "secret") {
				t.Error("the cause is in the answer")
			}
			if got := rec.Header().Get("Retry-After"); got != c.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, c.retryAfter)
			}
			if got := strings.Contains(w.log.String(), "request failed"); got != c.logged {
				t.Errorf("cause logged: %v, want %v", got, c.logged)
			}
			if c.logged && !strings.Contains(w.log.String(), `"request_id":"req-7"`) {
				t.Error("the log line has no request id")
			}
		})
	}
}

// panics stands for a dependency with a bug.
type panics struct{ gateway.Board }

func (panics) Ahead(context.Context, export.Job) (int64, error) { panic("secret cause") }

func TestAPanicIsAProblemAndIsLogged(t *testing.T) {
	w := newWorld(t, nil)
	cfg := w.cfg
	cfg.Board = panics{}
	cfg.Jobs = newJobs(jobIn(export.Queued))
	var err error
	if w.Server, err = gateway.New(cfg); err != nil {
		t.Fatal(err)
	}
	rec := w.call("GET", "/api/v1/exports/job-queued", "")
	if strings.Contains(rec.Body.String(), "secret") {
		t.Error("the panic is in the answer")
	}
	wantProblem(t, rec, 500, "internal")
	if !strings.Contains(w.log.String(), "panic: secret cause") {
		t.Error("the panic is not in the log")
	}
}

func TestRequestIDAndTraceAreTakenOrMade(t *testing.T) {
	w := newWorld(t, nil)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		name, id, trace string
		taken           bool
	}{
		{"taken", "abc-1", parent, true},
		{"made", "", "", false},
		{"an id with a line break is not taken", "a\nb", "rubbish", false},
		{"a long id is not taken", strings.Repeat("x", 200), "00-zz", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"file_name":%q}`, c.name)
			rec := w.call("POST", "/api/v1/exports", body, "X-Request-Id", c.id, "traceparent", c.trace)
			view := decode[gateway.JobView](t, rec.Body)
			job, err := w.jobs.Get(t.Context(), view.ID)
			if err != nil {
				t.Fatal(err)
			}
			id := rec.Header().Get("X-Request-Id")
			if (id == c.id) != c.taken || id == "" || (job.TraceParent == c.trace) != c.taken {
				t.Errorf("request id %q, trace %q", id, job.TraceParent)
			}
			if parts := strings.Split(job.TraceParent, "-"); len(parts) != 4 || len(parts[1]) != 32 || len(parts[2]) != 16 {
				t.Errorf("%q is no traceparent", job.TraceParent)
			}
		})
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{"/api/v1/exports", "/nowhere"} {
		h := w.call("GET", target, "").Header()
		got := []string{h.Get("X-Content-Type-Options"), h.Get("Referrer-Policy"), h.Get("Cache-Control"), h.Get("Strict-Transport-Security")}
		want := []string{"nosniff", "no-referrer", "no-store", "max-age=31536000; includeSubDomains"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", target, d)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: CSP %q", target, h.Get("Content-Security-Policy"))
		}
	}
}

func TestOriginsAreClosedUnlessConfigured(t *testing.T) {
	preflight := []string{"Authorization", "", "Origin", "https://office.example", "Access-Control-Request-Method", "POST"}
	rec := newWorld(t, nil).call("OPTIONS", "/api/v1/exports", "", preflight...)
	if got := rec.Header().Get("Access-Control-Allow-Origin"); got != "" || rec.Code == 204 {
		t.Errorf("no origin is configured, yet: %d, %q", rec.Code, got)
	}
	w := newWorld(t, func(_ *world, c *gateway.Config) { c.AllowedOrigins = []string{"https://office.example"} })
	rec = w.call("OPTIONS", "/api/v1/exports", "", preflight...)
	if got := rec.Header().Get("Access-Control-Allow-Origin"); got != "https://office.example" || rec.Code != 204 {
		t.Errorf("configured origin: %d, %q", rec.Code, got)
	}
	preflight[3] = "https://evil.example"
	if got := w.call("OPTIONS", "/api/v1/exports", "", preflight...).Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("another origin got %q", got)
	}
}

func TestReadyNamesTheDependencyThatFails(t *testing.T) {
	well := func(context.Context) error { return nil }
	w := newWorld(t, func(_ *world, c *gateway.Config) {
		c.Checks = map[string]func(context.Context) error{"mysql": well, "redis": well}
	})
	got := decode[gateway.Health](t, w.call("GET", "/readyz", "").Body)
	if d := cmp.Diff(gateway.Health{Status: "ok", Checks: map[string]string{"mysql": "ok", "redis": "ok"}}, got); d != "" {
		t.Error(d)
	}
	w.cfg.Checks["redis"] = func(context.Context) error { return errBroken }
	rec := w.call("GET", "/readyz", "")
	if bytes.Contains(rec.Body.Bytes(), []byte("secret")) {
		t.Error("the cause is in the answer")
	}
	p := wantProblem(t, rec, 503, "unavailable")
	if d := cmp.Diff(map[string]string{"redis": "is not ready; the log has the cause"}, messages(p)); d != "" {
		t.Error(d)
	}
	if rec := w.call("GET", "/livez", ""); rec.Code != http.StatusOK {
		t.Errorf("livez depends on redis: %d", rec.Code)
	}
	delete(w.cfg.Checks, "redis")
	w.Drain()
	wantProblem(t, w.call("GET", "/readyz", ""), 503, "unavailable")
}
