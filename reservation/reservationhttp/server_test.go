package reservationhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/table"
	"rowmill/reservation"
)

type sentProblem struct {
	Type, Title, Detail string
	Status              int
	Errors              []struct{ Name, Detail string }
}

func readSent(t *testing.T, res *http.Response, body string) sentProblem {
	t.Helper()
	if got := res.Header.Get("Content-Type"); got != httpedge.ProblemMedia {
		t.Errorf("content type %q, body %s", got, body)
	}
	var p sentProblem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if p.Status != res.StatusCode || p.Title == "" || p.Detail == "" {
		t.Errorf("status %d with %+v", res.StatusCode, p)
	}
	return p
}

func TestDenials(t *testing.T) {
	base, _ := serve(t, &fakeStore{ids: upTo(3)})
	bearer := "Bearer " + testToken
	idList := func(n int) string { return "[1" + strings.Repeat(",2", n-1) + "]" }
	for _, x := range []struct {
		name, method, path, body, auth string
		status                         int
		kind                           string
		fields                         []string
	}{
		{name: "no token", path: pathBatch, status: 401, kind: "unauthorized"},
		{name: "wrong token", path: pathBatch, auth: "Bearer wrong", status: 401, kind: "unauthorized"},
		{name: "beginning of the token", path: pathBatch, auth: bearer[:len(bearer)-1], status: 401, kind: "unauthorized"},
		{name: "other scheme", path: pathBatch, auth: "Basic " + testToken, status: 401, kind: "unauthorized"},
		{name: "unknown path without token", path: "/x", status: 401, kind: "unauthorized"},
		{name: "catalog without token", method: "GET", path: pathFields, status: 401, kind: "unauthorized"},
		{name: "unknown path", path: "/internal/v1/x", auth: bearer, status: 404, kind: "not-found"},
		{name: "wrong method", method: "GET", path: pathBatch, auth: bearer, status: 405, kind: "method-not-allowed"},
		{name: "too large", path: pathBatch, auth: bearer, body: strings.Repeat(" ", maxRequest+1), status: 413, kind: "request-entity-too-large"},
		{name: "not JSON", path: pathBatch, auth: bearer, body: "ids=1", status: 400, kind: "invalid", fields: []string{"body"}},
		{name: "no body", path: pathList, auth: bearer, status: 400, kind: "invalid", fields: []string{"body"}},
		{name: "cut", path: pathList, auth: bearer, body: `{"limit":1`, status: 400, kind: "invalid", fields: []string{"body"}},
		{name: "two objects", path: pathList, auth: bearer, body: `{}{}`, status: 400, kind: "invalid", fields: []string{"body"}},
		{name: "unknown members", path: pathBatch, auth: bearer, body: `{"idz":[1],"ids":[1],"fields":["id"],"x":{}}`, status: 400, kind: "invalid", fields: []string{"idz", "x"}},
		{name: "member twice", path: pathBatch, auth: bearer, body: `{"ids":[1],"ids":[2],"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "5,001 ids", path: pathBatch, auth: bearer, body: `{"ids":` + idList(5001) + `,"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "65,536 ids", path: pathBatch, auth: bearer, body: `{"ids":` + idList(65536) + `,"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "no ids", path: pathBatch, auth: bearer, body: `{"ids":[],"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "id twice", path: pathBatch, auth: bearer, body: `{"ids":[1,2,1],"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "ids of text", path: pathBatch, auth: bearer, body: `{"ids":["1"],"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "id with a fraction", path: pathBatch, auth: bearer, body: `{"ids":[1.5],"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"ids"}},
		{name: "no fields", path: pathBatch, auth: bearer, body: `{"ids":[1]}`, status: 400, kind: "invalid", fields: []string{"fields"}},
		{name: "unknown and repeated field", path: pathBatch, auth: bearer, body: `{"ids":[1],"fields":["secret","id","id"]}`, status: 400, kind: "invalid", fields: []string{"fields", "fields"}},
		{name: "unknown filter field", path: pathSnapshot, auth: bearer, body: `{"filter":{"secret":["x"],"check_in_gt":["2024-01-01"]}}`, status: 400, kind: "invalid", fields: []string{"check_in_gt", "secret"}},
		{name: "filter value is no list", path: pathSnapshot, auth: bearer, body: `{"filter":{"status":"x"}}`, status: 400, kind: "invalid", fields: []string{"filter"}},
		{name: "unknown sort", path: pathSnapshot, auth: bearer, body: `{"sort":"memo"}`, status: 400, kind: "invalid", fields: []string{"_sort"}},
		{name: "unknown order", path: pathSnapshot, auth: bearer, body: `{"sort":"id","order":"up"}`, status: 400, kind: "invalid", fields: []string{"_order"}},
		{name: "offset in a snapshot", path: pathSnapshot, auth: bearer, body: `{"offset":1}`, status: 400, kind: "invalid", fields: []string{"offset"}},
		{name: "no limit", path: pathList, auth: bearer, body: `{"fields":["id"]}`, status: 400, kind: "invalid", fields: []string{"limit"}},
		{name: "limit and offset", path: pathList, auth: bearer, body: `{"fields":["id"],"limit":5001,"offset":-1}`, status: 400, kind: "invalid", fields: []string{"limit", "offset"}},
		{name: "offset and after", path: pathList, auth: bearer, body: `{"fields":["id"],"limit":1,"offset":1,"after":1}`, status: 400, kind: "invalid", fields: []string{"after"}},
		{name: "total is text", path: pathList, auth: bearer, body: `{"fields":["id"],"limit":1,"total":"yes"}`, status: 400, kind: "invalid", fields: []string{"total"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.method == "" {
				x.method = http.MethodPost
			}
			res, body := send(t, x.method, base+x.path, x.body, "Authorization", x.auth)
			p := readSent(t, res, body)
			if res.StatusCode != x.status || p.Type != "urn:rowmill:problem:"+x.kind {
				t.Errorf("got %d %s, want %d %s", res.StatusCode, p.Type, x.status, x.kind)
			}
			var names []string
			for _, e := range p.Errors {
				names = append(names, e.Name)
				if e.Detail == "" {
					t.Errorf("%s has no detail", e.Name)
				}
			}
			if diff := cmp.Diff(x.fields, names); diff != "" {
				t.Error(diff)
			}
			if x.status == 401 && res.Header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
}

func TestServerWithoutTokenLetsNobodyIn(t *testing.T) {
	e := NewServer(Config{Store: &fakeStore{}})
	for _, auth := range []string{"", "Bearer", "Bearer "} {
		req, rec := newRecorded(http.MethodGet, pathFields, "")
		req.Header.Set("Authorization", auth)
		e.ServeHTTP(rec, req)
		if rec.Code != http.StatusUnauthorized {
			t.Errorf("%q: status %d", auth, rec.Code)
		}
	}
}

func TestLiveNeedsNoToken(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	if res, _ := send(t, http.MethodGet, base+pathLive, ""); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestFaultsBecomeProblems(t *testing.T) {
	secret := errors.New("dial tcp db-7: password hunter2")
	for _, x := range []struct {
		err        error
		status     int
		kind       string
		retryAfter string
	}{
		{secret, 500, "internal", ""},
		{fault.Wrap(secret, fault.Internal, "No."), 500, "internal", ""},
		{fault.Wrap(secret, fault.Invalid, "No."), 400, "invalid", ""},
		{fault.Wrap(secret, fault.NotFound, "No."), 404, "not-found", ""},
		{fault.Wrap(secret, fault.Conflict, "No."), 409, "conflict", ""},
		{fault.Wrap(secret, fault.Forbidden, "No."), 403, "forbidden", ""},
		{fault.Wrap(secret, fault.Gone, "No."), 410, "gone", ""},
		{fault.Wrap(secret, fault.Unavailable, "No."), 503, "unavailable", ""},
		{&fault.Error{Kind: fault.Unavailable, Message: "No.", RetryAfter: 1500 * time.Millisecond}, 503, "unavailable", "2"},
		{&fault.Error{Kind: fault.Overloaded, Message: "No.", RetryAfter: 7 * time.Second}, 429, "overloaded", "7"},
		{fmt.Errorf("query: %w", context.DeadlineExceeded), 503, "unavailable", ""},
		{fmt.Errorf("query: %w", context.Canceled), 503, "unavailable", ""},
	} {
		t.Run(fmt.Sprint(x.status, x.err), func(t *testing.T) {
			base, log := serve(t, &fakeStore{
				batchHook: func(context.Context, []int64, []reservation.Field) (reservation.Batch, error) {
					return reservation.Batch{}, x.err
				},
				snapshotHook: func(context.Context, func([]int64) error) (reservation.Snapshot, error) {
					return reservation.Snapshot{}, x.err
				},
				listHook: func(context.Context) (reservation.List, error) { return reservation.List{}, x.err },
			})
			for path, body := range map[string]string{
				pathBatch: `{"ids":[1],"fields":["id"]}`, pathList: `{"limit":1,"fields":["id"]}`, pathSnapshot: `{}`,
			} {
				res, answer := post(t, base+path, body)
				p := readSent(t, res, answer)
				if res.StatusCode != x.status || p.Type != httpedge.ProblemSpace+x.kind || res.Header.Get("Retry-After") != x.retryAfter {
					t.Errorf("%s: got %d %s, Retry-After %q", path, res.StatusCode, p.Type, res.Header.Get("Retry-After"))
				}
				if strings.Contains(answer, "hunter2") {
					t.Errorf("the caller sees the cause: %s", answer)
				}
			}
			if logged := strings.Contains(log.String(), x.err.Error()); logged != (x.status >= 500) {
				t.Errorf("cause logged: %v", logged)
			}
		})
	}
}

func TestPanicBecomesProblem(t *testing.T) {
	base, log := serve(t, &fakeStore{listHook: func(context.Context) (reservation.List, error) { panic("hunter2") }})
	res, body := post(t, base+pathList, `{"limit":1,"fields":["id"]}`)
	if p := readSent(t, res, body); p.Type != httpedge.ProblemSpace+"internal" || strings.Contains(body, "hunter2") {
		t.Errorf("got %s", body)
	}
	if !strings.Contains(log.String(), "panic: hunter2") || !strings.Contains(log.String(), "fake_test.go") {
		t.Errorf("the log lacks the panic and its place: %s", log)
	}
}

// What has been sent must never look whole when the rest fails.
func TestAnswerThatFailsOnTheWayIsCut(t *testing.T) {
	wide := strings.Repeat("x", 2*pieceSize)
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("lost the cursor") },
		"panic": func() error { panic("lost the cursor") },
	} {
		t.Run(name, func(t *testing.T) {
			base, log := serve(t, &fakeStore{
				snapshotHook: func(_ context.Context, each func([]int64) error) (reservation.Snapshot, error) {
					if err := each(upTo(20_000)); err != nil {
						return reservation.Snapshot{}, err
					}
					return reservation.Snapshot{At: snapshotAt, Total: 20_000}, fail()
				},
				batchHook: func(_ context.Context, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
					row := func(id int64) table.Row { return table.Row{Key: id, Values: []table.Value{table.TextOf(wide)}} }
					return reservation.Batch{Rows: []table.Row{row(1), row(2), {Key: 3}}}, nil
				},
			})
			for path, body := range map[string]string{pathSnapshot: `{}`, pathBatch: `{"ids":[1,2,3],"fields":["memo"],"personal":true}`} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+testToken)
				req.Close = true
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				if err := res.Body.Close(); err != nil {
					t.Error(err)
				}
				if res.StatusCode != http.StatusOK || len(got) < pieceSize || err == nil {
					t.Errorf("%s: status %d, %d bytes, error %v", path, res.StatusCode, len(got), err)
				}
			}
			if !strings.Contains(log.String(), "answer cut in mid stream") || !strings.Contains(log.String(), "lost the cursor") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

func TestCallerWhoLeavesEndsTheQuery(t *testing.T) {
	ended := make(chan error, 1)
	begun := make(chan struct{})
	base, _ := serve(t, &fakeStore{listHook: func(ctx context.Context) (reservation.List, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return reservation.List{}, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	_, err := newTestClient(t, base).Count(ctx, reservation.Query{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the client says %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the store's context ended with %v", err)
	}
}

func TestServerTimingCountsStatements(t *testing.T) {
	base, log := serve(t, &fakeStore{ids: upTo(3)})
	res, _ := post(t, base+pathBatch, `{"ids":[1,2],"fields":["id","guest_name","guest_phone","amount"]}`)
	if got, want := res.Header.Get("Server-Timing"), `db;desc="3 statements"`; got != want {
		t.Errorf("batch: got %q, want %q", got, want)
	}
	res, _ = post(t, base+pathList, `{"limit":1,"fields":["id"]}`)
	if got, want := res.Header.Get("Server-Timing"), `db;desc="1 statements"`; got != want {
		t.Errorf("list: got %q, want %q", got, want)
	}
	if _, body := post(t, base+pathSnapshot, `{}`); body != `{"ids":[1,2,3],"at":"2026-11-30T12:00:00.123456789Z","statements":1,"total":3}` {
		t.Errorf("snapshot: got %s", body)
	}
	if !strings.Contains(log.String(), "statements=3") {
		t.Errorf("log: %s", log)
	}
}

func TestBatchAndListAnswers(t *testing.T) {
	base, _ := serve(t, &fakeStore{ids: upTo(3), absent: map[int64]bool{2: true}})
	if _, body := post(t, base+pathBatch, `{"ids":[3,2,1],"fields":["code","nights"]}`); body != `{"fields":["code","nights"],"rows":[[3,"code 3",3],[1,"code 1",1]],"absent":[2]}` {
		t.Errorf("batch: %s", body)
	}
	if _, body := post(t, base+pathList, `{"limit":2,"offset":1,"fields":["id"],"total":true}`); body != `{"fields":["id"],"rows":[[2,2],[3,3]],"total":3}` {
		t.Errorf("list: %s", body)
	}
	if _, body := post(t, base+pathList, `{"limit":2,"after":2,"fields":["id"]}`); body != `{"fields":["id"],"rows":[[3,3]],"total":null}` {
		t.Errorf("list after: %s", body)
	}
}

func TestFieldsGivesTheCatalog(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	res, body := send(t, http.MethodGet, base+pathFields, "", "Authorization", "Bearer "+testToken)
	var got struct {
		Fields   []fieldEntry
		Defaults []string
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	if len(got.Fields) != len(reservation.Fields()) || len(got.Defaults) != 25 {
		t.Fatalf("%d fields, %d defaults", len(got.Fields), len(got.Defaults))
	}
	for _, f := range got.Fields {
		if f.Key != "amount" {
			continue
		}
		want := fieldEntry{
			Key: "amount", Type: "decimal", Scale: 2, Titles: map[string]string{"ko": "결제금액", "en": "Amount"}, Width: 12, Format: "#,##0.00",
			Part: reservation.PartPayment, Operators: []reservation.Op{reservation.Equal, reservation.NotIn, reservation.AtLeast, reservation.AtMost, reservation.IsNull},
		}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRequestIDAndTrace(t *testing.T) {
	base, log := serve(t, &fakeStore{ids: upTo(1)})
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	res, _ := post(t, base+pathList, `{"limit":1,"fields":["id"]}`, "X-Request-Id", "req-1", "Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	if got := res.Header.Get("X-Request-Id"); got != "req-1" {
		t.Errorf("request id %q", got)
	}
	if !strings.Contains(log.String(), "request_id=req-1") || !strings.Contains(log.String(), "trace_id="+traceID) {
		t.Errorf("log: %s", log)
	}
	res, _ = post(t, base+pathList, `{"limit":1,"fields":["id"]}`, "X-Request-Id", "evil id=1", "Traceparent", "00-bad")
	if got := res.Header.Get("X-Request-Id"); got == "" || strings.Contains(got, " ") {
		t.Errorf("request id %q", got)
	}
	if strings.Contains(log.String(), "evil") || strings.Contains(log.String(), "trace_id=00000000000000000000000000000000") {
		t.Errorf("log: %s", log)
	}
}
