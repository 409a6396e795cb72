package reservationhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// answers is a server that gives its answers one after another, the last again and again.
func answers(t *testing.T, handlers ...http.HandlerFunc) (*Client, *atomic.Int64) {
	t.Helper()
	calls := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see its caller leave
		n := int(calls.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return newTestClient(t, server.URL), calls
}

func body(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
}

func status(code int, s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(s))
	}
}

// cut gives the beginning of an answer and then breaks the connection.
func cut(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(s))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

const wholeBatch = `{"fields":["id"],"rows":[[3,3],[1,1]],"absent":[2]}`

// Case 27: an answer that is not whole is never taken for one.
func TestBrokenBatchIsTriedAgain(t *testing.T) {
	for name, broken := range map[string]http.HandlerFunc{
		"fewer rows":         body(`{"fields":["id"],"rows":[[3,3]],"absent":[2]}`),
		"no rows":            body(`{"fields":["id"],"rows":[],"absent":[]}`),
		"more rows":          body(`{"fields":["id"],"rows":[[3,3],[1,1],[4,4]],"absent":[2]}`),
		"far more rows":      body(`{"fields":["id"],"rows":[[3,3],[1,1],[4,4],[5,5],[6,6]],"absent":[]}`),
		"swapped rows":       body(`{"fields":["id"],"rows":[[1,1],[3,3]],"absent":[2]}`),
		"row twice":          body(`{"fields":["id"],"rows":[[3,3],[3,3]],"absent":[2]}`),
		"absent twice":       body(`{"fields":["id"],"rows":[[3,3]],"absent":[2,2]}`),
		"absent and there":   body(`{"fields":["id"],"rows":[[3,3],[1,1]],"absent":[1]}`),
		"another row":        body(`{"fields":["id"],"rows":[[3,3],[7,7]],"absent":[2]}`),
		"another absent":     body(`{"fields":["id"],"rows":[[3,3],[1,1]],"absent":[7]}`),
		"no absent":          body(`{"fields":["id"],"rows":[[3,3],[1,1]]}`),
		"no fields":          body(`{"rows":[[3,3],[1,1]],"absent":[2]}`),
		"other fields":       body(`{"fields":["code"],"rows":[[3,3],[1,1]],"absent":[2]}`),
		"rows twice":         body(`{"fields":["id"],"rows":[[3,3],[1,1]],"rows":[[3,3],[1,1]],"absent":[2]}`),
		"wrong type":         body(`{"fields":["id"],"rows":[[3,"3"],[1,"1"]],"absent":[2]}`),
		"too wide":           body(`{"fields":["id"],"rows":[[3,3,3],[1,1,1]],"absent":[2]}`),
		"garbage":            body(`<html>Welcome</html>`),
		"nothing":            body(``),
		"something after":    body(wholeBatch + "x"),
		"cut in mid stream":  cut(wholeBatch[:20]),
		"cut after the JSON": cut(wholeBatch),
		"cut at once":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"busy":               status(429, ""),
		"bad gateway":        status(502, "<html>"),
		"unavailable":        status(503, `{"type":"urn:rowmill:problem:unavailable","detail":"db"}`),
		"gateway timeout":    status(504, ""),
	} {
		t.Run(name, func(t *testing.T) {
			c, calls := answers(t, broken, broken, body(wholeBatch))
			batch, _, err := c.Batch(t.Context(), inTheClear, []int64{3, 2, 1}, fieldsOf(t, "id"))
			if err != nil || calls.Load() != 3 {
				t.Fatalf("after %d calls: %v", calls.Load(), err)
			}
			want := reservation.Batch{Rows: fakeRows([]int64{3, 1}, fieldsOf(t, "id")), Absent: []int64{2}}
			if diff := cmp.Diff(want, batch, sameValue); diff != "" {
				t.Error(diff)
			}
			c, calls = answers(t, broken)
			batch, _, err = c.Batch(t.Context(), inTheClear, []int64{3, 2, 1}, fieldsOf(t, "id"))
			if kind := fault.KindOf(err); kind != fault.Unavailable && !(name == "busy" && kind == fault.Overloaded) {
				t.Errorf("kind %v of %v", kind, err)
			}
			if batch.Rows != nil || calls.Load() != 3 || !strings.Contains(fault.Message(err), "a page of rows") {
				t.Errorf("%d calls, %v rows, message %q", calls.Load(), batch.Rows, fault.Message(err))
			}
		})
	}
}

func TestRefusalsAreFinal(t *testing.T) {
	for _, x := range []struct {
		status int
		body   string
		kind   fault.Kind
		detail string
	}{
		{400, `{"type":"urn:rowmill:problem:invalid","detail":"The filter is not valid."}`, fault.Invalid, "The filter is not valid."},
		{401, `{"type":"urn:rowmill:problem:unauthorized","detail":"No."}`, fault.Unauthorized, "No."},
		{403, `<html>`, fault.Forbidden, "status 403"},
		{404, ``, fault.NotFound, "status 404"},
		{409, `{"type":"urn:rowmill:problem:conflict","detail":"No."}`, fault.Conflict, "No."},
		{413, `{"type":"urn:rowmill:problem:request-entity-too-large","detail":"Too large."}`, fault.Invalid, "Too large."},
		{302, ``, fault.Unavailable, "status 302"},
		{500, `{"type":"urn:rowmill:problem:internal","detail":"No."}`, fault.Unavailable, "a page of rows"},
	} {
		t.Run(fmt.Sprint(x.status), func(t *testing.T) {
			c, calls := answers(t, status(x.status, x.body))
			_, _, err := c.Batch(t.Context(), inTheClear, []int64{1}, fieldsOf(t, "id"))
			if fault.KindOf(err) != x.kind || !strings.Contains(fault.Message(err), x.detail) || calls.Load() != 1 {
				t.Errorf("%d calls, kind %v, %v", calls.Load(), fault.KindOf(err), err)
			}
		})
	}
}

func TestFieldErrorsComeThrough(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	q := reservation.Query{
		Filter: reservation.Filter{Conditions: []reservation.Condition{{Field: "secret", Op: reservation.Equal, Values: []table.Value{table.TextOf("x")}}}},
		Sort:   reservation.DefaultSort,
	}
	_, err := newTestClient(t, base).List(t.Context(), q, reservation.Window{Limit: 1}, fieldsOf(t, "id"), false)
	f, _ := fault.As(err)
	if f == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != "secret" || f.Fields[0].Detail != `there is no field "secret"` {
		t.Errorf("got %v", err)
	}
}

// Case 32: an API that never answers, or stops in mid answer, has a deadline.
func TestServerThatNeverAnswers(t *testing.T) {
	silent := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	half := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"ids":[1,2`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, handler := range map[string]http.HandlerFunc{"silent": silent, "half": half} {
		t.Run(name, func(t *testing.T) {
			c, _ := answers(t, handler)
			c.config.Timeout, c.config.Silence, c.config.Attempts = 20*time.Millisecond, 20*time.Millisecond, 2
			if _, _, err := c.Batch(t.Context(), inTheClear, []int64{1}, fieldsOf(t, "id")); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("batch: %v", err)
			}
			if _, err := snapshotOf(t, c, 10); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("snapshot: %v", err)
			}
		})
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newTestClient(t, server.URL).Count(t.Context(), reservation.Query{})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestAddressThatIsNone(t *testing.T) {
	_, err := newTestClient(t, "http://[bad").Count(t.Context(), reservation.Query{})
	if fault.KindOf(err) != fault.Internal || !strings.Contains(fault.Message(err), "address") {
		t.Errorf("got %v", err)
	}
}

func TestEndedContextEndsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the job was canceled")
	c, calls := answers(t, func(w http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
	})
	_, _, err := c.Batch(ctx, inTheClear, []int64{1}, fieldsOf(t, "id"))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

func TestTokenIsNotSentOnRedirect(t *testing.T) {
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	c, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Count(t.Context(), reservation.Query{}); err == nil || reached.Load() {
		t.Errorf("reached %v, error %v", reached.Load(), err)
	}
}

func TestCallsCarryTokenAndTrace(t *testing.T) {
	headers := make(chan http.Header, 1)
	c, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		body(`{"fields":["id"],"rows":[],"total":0}`)(w, r)
	})
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5}, TraceFlags: trace.FlagsSampled,
	}))
	if _, err := c.Count(ctx, reservation.Query{}); err != nil {
		t.Fatal(err)
	}
	h := <-headers
	if got, want := h.Get("Traceparent"), "00-01020300000000000000000000000000-0405000000000000-01"; got != want {
		t.Errorf("traceparent %q, want %q", got, want)
	}
	if got := h.Get("Authorization"); got != "Bearer "+testToken {
		t.Errorf("authorization %q", got)
	}
}

func TestListAndCount(t *testing.T) {
	store := &fakeStore{ids: upTo(12)}
	base, _ := serve(t, store)
	c := newTestClient(t, base)
	filter, err := reservation.ParseFilter(map[string][]string{"status": {"Canceled", `a"b`}, "check_in_gte": {"2024-02-29"}, "amount_lte": {"12.50"}, "q": {"김"}, "paid_at_null": {"true"}})
	if err != nil {
		t.Fatal(err)
	}
	q := reservation.Query{Filter: filter, Sort: reservation.Sort{Field: "check_in", Desc: true}, Scope: access.Scope{Properties: []int64{2, 1}, Personal: true}}
	fields := fieldsOf(t, reservation.DefaultFields()...)
	after := int64(9)
	for _, x := range []struct {
		window reservation.Window
		total  bool
		want   reservation.List
	}{
		{reservation.Window{Offset: 2, Limit: 3}, true, reservation.List{Rows: fakeRows([]int64{3, 4, 5}, fields), Total: 12}},
		{reservation.Window{After: &after, Limit: 5}, false, reservation.List{Rows: fakeRows([]int64{10, 11, 12}, fields), Total: -1}},
		{reservation.Window{Offset: 100, Limit: 5}, true, reservation.List{Rows: []table.Row{}, Total: 12}},
	} {
		got, err := c.List(t.Context(), q, x.window, fields, x.total)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.want, got, sameValue); diff != "" {
			t.Error(diff)
		}
		gotQuery, gotWindow := store.query()
		if diff := cmp.Diff(q, gotQuery, sameValue) + cmp.Diff(x.window, gotWindow); diff != "" {
			t.Error(diff)
		}
	}
	if n, err := c.Count(t.Context(), q); err != nil || n != 12 {
		t.Errorf("count %d, %v", n, err)
	}
}

func TestListThatIsNotWhatWasAsked(t *testing.T) {
	for name, answer := range map[string]string{
		"past the limit":     `{"fields":["id"],"rows":[[1,1],[2,2]],"total":2}`,
		"no total":           `{"fields":["id"],"rows":[[1,1]],"total":null}`,
		"total below rows":   `{"fields":["id"],"rows":[[1,1]],"total":0}`,
		"total is missing":   `{"fields":["id"],"rows":[[1,1]]}`,
		"total is fractions": `{"fields":["id"],"rows":[[1,1]],"total":1.5}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, calls := answers(t, body(answer))
			if n, err := c.Count(t.Context(), reservation.Query{}); fault.KindOf(err) != fault.Unavailable || calls.Load() != 3 {
				t.Errorf("count %d after %d calls, %v", n, calls.Load(), err)
			}
		})
	}
}
