package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/gateway"
)

// bare leaves out of an event what differs from call to call.
var bare = cmpopts.IgnoreFields(audit.Event{}, "ID", "RequestID", "Address")

// by is an event of the developer's, now.
func by(e audit.Event) audit.Event {
	e.At, e.Actor, e.ActorName = today, gateway.Subject, gateway.Subject
	return e
}

func TestAnExportIsRecordedBeforeItIsMade(t *testing.T) {
	f := &fakeAudit{}
	w := newWorld(t, audited(f, nil))
	const order = `{"filter":{"status":["Canceled"],"q":"김"},"sort":"check_in","order":"desc","columns":["id","code"]}`
	rec := w.call("POST", exportsPath, order, "User-Agent", "test/1", "X-Request-Id", "r-1")
	view := decode[gateway.JobView](t, rec.Body)
	want := by(audit.Event{Action: audit.Create, JobID: view.ID, Dataset: "reservations", UserAgent: "test/1",
		Filter: map[string][]string{"status": {"Canceled"}, "q": {"김"}}, Sort: "check_in desc", Columns: []string{"id", "code"}, Rows: 100})
	if diff := cmp.Diff([]audit.Event{want}, f.recorded(), bare); rec.Code != 202 || diff != "" {
		t.Errorf("%d (-want +got):\n%s", rec.Code, diff)
	}
	if e := f.recorded()[0]; e.ID == "" || e.RequestID != "r-1" || e.Address != "192.0.2.1" { // httptest's
		t.Errorf("event %q of request %q from %q", e.ID, e.RequestID, e.Address)
	}

	again := decode[gateway.JobView](t, w.call("POST", exportsPath, order).Body)
	events := f.recorded()
	if len(events) != 3 || again.ID != view.ID || events[2].JobID != view.ID || events[2].Detail != "the same as "+events[1].JobID+" asks for" {
		t.Errorf("a double click gave job %s and left %+v", again.ID, events[1:])
	}
}

func TestWhatCannotBeRecordedDoesNotHappen(t *testing.T) {
	f := &fakeAudit{err: errBroken}
	w := newWorld(t, audited(f, withJobs(jobIn(export.Queued), jobIn(export.Succeeded))))
	for _, c := range []struct{ method, target, body string }{
		{"POST", exportsPath, `{}`},
		{"DELETE", exportsPath + "/job-queued", ""},
		{"GET", filePath, ""},
		{"GET", "/api/v1/audit", ""},
		{"GET", "/api/v1/audit.csv", ""},
		{"GET", "/api/v1/audit/reservations/5", ""},
	} {
		rec := w.call(c.method, c.target, c.body)
		p := wantProblem(t, rec, http.StatusServiceUnavailable, "unavailable")
		if !strings.Contains(p.Detail, "cannot be recorded") || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: %q, Retry-After %q", c.method, c.target, p.Detail, rec.Header().Get("Retry-After"))
		}
	}
	if job := w.jobs.rows["job-queued"]; len(w.jobs.all()) != 2 || job.Status != export.Queued || len(w.queue.enqueued)+len(w.queue.canceled) != 0 {
		t.Errorf("there are %d jobs, the queued one is %s", len(w.jobs.all()), job.Status)
	}
}

func TestADownloadThatCannotBeRecordedSendsNoByte(t *testing.T) {
	f := &fakeAudit{err: errBroken}
	w := newWorld(t, audited(f, withJobs(jobIn(export.Succeeded))))
	for _, header := range [][]string{nil, {"Range", "bytes=600000-600003"}, {"Range", "bytes=0-1,5-6"}} {
		rec := w.call("GET", filePath, "", header...)
		if rec.Code != 503 || bytes.Contains(rec.Body.Bytes(), []byte("0123456789abcdef")) {
			t.Errorf("%v: %d with %d bytes", header, rec.Code, rec.Body.Len())
		}
		for _, name := range []string{"Content-Length", "Content-Range", "Content-Disposition", "ETag", "Repr-Digest"} {
			if got := rec.Header().Get(name); got != "" {
				t.Errorf("%v: %s is %q, as if there were a file", header, name, got)
			}
		}
	}
	if w.files.open != 0 {
		t.Errorf("%d readers were not closed", w.files.open)
	}
	for _, header := range [][]string{{"If-None-Match", `"` + fileSHA256 + `"`}, {"If-Match", `"other"`}, {"Range", "bytes=1600000-"}} {
		if rec := w.call("GET", filePath, "", header...); rec.Code == 503 {
			t.Errorf("%v: what sends no byte of the file needs no record", header)
		}
	}
}

func TestEveryReadingOfAFileIsRecorded(t *testing.T) {
	job := jobIn(export.Succeeded)
	job.Scope.Personal, job.Request.Reason = true, "dispute 77"
	whole := by(audit.Event{Action: audit.Download, JobID: job.ID, Dataset: "reservations", Personal: true, Reason: "dispute 77",
		Rows: 1000, Bytes: 1_600_000, SHA256: fileSHA256})
	part := whole
	part.Bytes, part.Detail = 4, "bytes 600000-600003/1600000"
	for _, c := range []struct {
		name, method string
		header       []string
		want         []audit.Event
	}{
		{"the whole", "GET", nil, []audit.Event{whole}},
		{"a part", "GET", []string{"Range", "bytes=600000-600003"}, []audit.Event{part}},
		{"its head", "HEAD", nil, nil},
		{"the client has it", "GET", []string{"If-None-Match", `"` + fileSHA256 + `"`}, nil},
		{"past its end", "GET", []string{"Range", "bytes=1600000-"}, nil},
	} {
		f := &fakeAudit{}
		newWorld(t, audited(f, withJobs(job))).call(c.method, filePath, "", c.header...)
		if diff := cmp.Diff(c.want, f.recorded(), bare); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	f := &fakeAudit{}
	rec := newWorld(t, audited(f, withJobs(job))).call("GET", filePath, "", "Range", "bytes=0-1,5-6")
	if e := f.recorded(); len(e) != 1 || e[0].Detail != "several parts" || e[0].Bytes != int64(rec.Body.Len()) {
		t.Errorf("several parts of %d bytes: %+v", rec.Body.Len(), e)
	}
}

func TestOnlyACancelThatMayChangeSomethingIsRecorded(t *testing.T) {
	f := &fakeAudit{}
	w := newWorld(t, audited(f, withJobs(jobIn(export.Running), jobIn(export.Failed))))
	for range 2 {
		w.call("DELETE", exportsPath+"/job-running", "")
	}
	w.call("DELETE", exportsPath+"/job-failed", "")
	want := []audit.Event{by(audit.Event{Action: audit.Cancel, JobID: "job-running", Dataset: "reservations"})}
	if diff := cmp.Diff(want, f.recorded(), bare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBehindAProxyTheCallerIsWhoTheProxySays(t *testing.T) {
	f := &fakeAudit{}
	w := newWorld(t, audited(f, func(_ *world, cfg *gateway.Config) {
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	}))
	w.call("POST", exportsPath, `{}`, "X-Forwarded-For", "10.9.9.9, 198.51.100.7")
	if e := f.recorded(); len(e) != 1 || e[0].Address != "198.51.100.7" {
		t.Errorf("recorded %+v", e)
	}
}

// someEvents gives events from before today.
func someEvents(n int) *fakeAudit {
	f := &fakeAudit{}
	for i := range n {
		f.events = append(f.events, audit.Event{ID: fmt.Sprintf("e%d", i), At: today.Add(time.Duration(i-n) * time.Second), Actor: "ann",
			ActorName: "=cmd|'/c calc'!A0", Action: audit.Download, JobID: "j", Filter: map[string][]string{"q": {"a"}}, Columns: []string{"id", "code"},
			Rows: 7, Bytes: 8, UserAgent: "said \"so\"\r\nand so"})
	}
	return f
}

func TestTheAuditIsListed(t *testing.T) {
	f := someEvents(5)
	w := newWorld(t, audited(f, nil))
	rec := w.call("GET", "/api/v1/audit?actor=ann&action=export.download&job=j&from=2026-11-01&to=2026-11-30T09:00:00%2B09:00&before=e9&limit=2", "")
	events := decode[[]gateway.EventView](t, rec.Body)
	if rec.Code != 200 || len(events) != 2 || events[0].ID != "e4" || events[0].Columns[1] != "code" || !events[0].At.Equal(today.Add(-time.Second)) {
		t.Errorf("%d, %+v", rec.Code, events)
	}
	want := audit.Query{Actor: "ann", Action: audit.Download, JobID: "j", Before: "e9", Limit: 2,
		From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff([]audit.Query{want}, f.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	link := `</api/v1/audit?action=export.download&actor=ann&before=e3&from=2026-11-01&job=j&limit=2&to=2026-11-30T09%3A00%3A00%2B09%3A00>; rel="next"`
	if got := rec.Header().Get("Link"); got != link {
		t.Errorf("Link %s", got)
	}
	reading := by(audit.Event{Action: audit.Read, Detail: "list", Filter: map[string][]string{
		"actor": {"ann"}, "action": {"export.download"}, "job": {"j"}, "from": {"2026-11-01"}, "to": {"2026-11-30T09:00:00+09:00"}}})
	if diff := cmp.Diff(reading, f.recorded()[5], bare); diff != "" {
		t.Errorf("the reading (-want +got):\n%s", diff)
	}
	if rec := w.call("GET", "/api/v1/audit?actor=&action=&job=&from=&to=&before=&limit=", ""); rec.Code != 200 || rec.Header().Get("Link") != "" {
		t.Errorf("a form left empty: %d, Link %q", rec.Code, rec.Header().Get("Link"))
	}
}

func TestADayIsMeantWhole(t *testing.T) {
	f := &fakeAudit{}
	w := newWorld(t, audited(f, func(_ *world, cfg *gateway.Config) { cfg.DefaultTimeZone = "Asia/Seoul" }))
	w.call("GET", "/api/v1/audit?from=2026-11-30&to=2026-11-30", "")
	from := time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)
	if len(f.asked) != 1 || !f.asked[0].From.Equal(from) || !f.asked[0].To.Equal(from.Add(24*time.Hour)) {
		t.Errorf("asked %+v", f.asked)
	}
}

func TestWrongQuestionsOfTheAudit(t *testing.T) {
	w := newWorld(t, audited(&fakeAudit{}, nil))
	for target, at := range map[string]string{
		"/api/v1/audit?from=yesterday":                "from",
		"/api/v1/audit?to=2026-13-01":                 "to",
		"/api/v1/audit.csv?from=1":                    "from",
		"/api/v1/audit?action=eat":                    "query.action",
		"/api/v1/audit?limit=501":                     "query.limit",
		"/api/v1/audit?who=me":                        "query.who",
		"/api/v1/audit/reservations/0":                "path.id",
		"/api/v1/audit/reservations/x":                "path.id",
		"/api/v1/audit/reservations/1?limit=201":      "query.limit",
		"/api/v1/audit?from=2026-11-02&to=2026-11-01": "from",
	} {
		p := wantProblem(t, w.call("GET", target, ""), 400, "invalid")
		if messages(p)[at] == "" {
			t.Errorf("%s: %+v", target, p.Errors)
		}
	}
}

func TestTheAuditAsAFile(t *testing.T) {
	f := someEvents(2)
	w := newWorld(t, audited(f, nil))
	rec := w.call("GET", "/api/v1/audit.csv?actor=ann", "")
	line := func(id, at string) string {
		return `"` + id + `",` + at + `,"ann","'=cmd|'/c calc'!A0",,"said ""so""` + "\r\n" + `and so",,"export.download","j",,"{""q"":[""a""]}",,"id code",FALSE,,7,8,,` + "\r\n"
	}
	want := "\ufeff" + `"id","at","actor","actor_name","address","user_agent","request_id","action","job_id","dataset","filter","sort","columns","personal","reason","rows","bytes","sha256","detail"` + "\r\n" +
		line("e0", "2026-11-30T20:29:58+00:00") + line("e1", "2026-11-30T20:29:59+00:00")
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("%d (-want +got):\n%s", rec.Code, diff)
	}
	got := []string{rec.Header().Get("Content-Type"), rec.Header().Get("Content-Disposition")}
	if diff := cmp.Diff([]string{"text/csv; charset=utf-8", `attachment; filename="audit_2026-11-30.csv"; filename*=UTF-8''audit_2026-11-30.csv`}, got); diff != "" {
		t.Error(diff)
	}
	reading := by(audit.Event{Action: audit.Read, Detail: "csv", Filter: map[string][]string{"actor": {"ann"}}})
	if diff := cmp.Diff(reading, f.recorded()[2], bare); diff != "" {
		t.Errorf("the reading (-want +got):\n%s", diff)
	}
	if q := f.asked[0]; q.Actor != "ann" || !q.To.Equal(today) {
		t.Errorf("asked %+v", q)
	}
}

func TestAnAuditThatCannotBeReadIsNoFile(t *testing.T) {
	f := someEvents(3)
	f.readErr = errBroken
	w := newWorld(t, audited(f, nil))
	for _, target := range []string{"/api/v1/audit.csv", "/api/v1/audit", "/api/v1/audit/reservations/1"} {
		rec := w.call("GET", target, "")
		wantProblem(t, rec, 500, "internal")
		if rec.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s: the problem comes as a file", target)
		}
	}
}

func TestAnAuditBrokenOffIsSeenByTheClient(t *testing.T) {
	f := someEvents(1000)
	f.readErr = errBroken
	w := newWorld(t, audited(f, nil))
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the answer ended with %v, as if it were whole", err)
		}
		if !strings.Contains(w.log.String(), "audit broken off") {
			t.Error("the failure is not in the log")
		}
	}()
	w.call("GET", "/api/v1/audit.csv", "")
}

func TestWhoTookAReservationOut(t *testing.T) {
	f := &fakeAudit{}
	for i := range 3 {
		f.takings = append(f.takings, audit.Taking{JobID: fmt.Sprintf("j%d", i), By: "ann", ByName: "Ann", At: today, Dataset: "reservations",
			Columns: []string{"id"}, Personal: true, Reason: "dispute", Rows: 7, Bytes: 8, SHA256: "abc", DownloadCount: 2,
			Downloads: []audit.Event{{ID: "e", At: today, Action: audit.Download, Actor: "ann"}}})
	}
	w := newWorld(t, audited(f, nil))
	rec := w.call("GET", "/api/v1/audit/reservations/42?limit=2&before=j9", "")
	want := gateway.TakingView{JobID: "j0", By: "ann", ByName: "Ann", At: today, Dataset: "reservations", Columns: []string{"id"}, Personal: true, Reason: "dispute",
		Rows: 7, Bytes: 8, SHA256: "abc", DownloadCount: 2, Downloads: []gateway.EventView{{ID: "e", At: today, Action: audit.Download, Actor: "ann"}}}
	got := decode[[]gateway.TakingView](t, rec.Body)
	if len(got) != 2 {
		t.Fatalf("%d, %d takings", rec.Code, len(got))
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := rec.Header().Get("Link"), `</api/v1/audit/reservations/42?before=j1&limit=2>; rel="next"`; got != want {
		t.Errorf("Link %s", got)
	}
	if diff := cmp.Diff([]audit.TakersQuery{{Dataset: "reservations", ID: 42, Before: "j9", Limit: 2}}, f.takers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	reading := by(audit.Event{Action: audit.Read, Detail: "reservation", Filter: map[string][]string{"reservation": {"42"}}})
	if diff := cmp.Diff([]audit.Event{reading}, f.recorded(), bare); diff != "" {
		t.Errorf("the reading (-want +got):\n%s", diff)
	}
	f.takings = nil
	if rec := w.call("GET", "/api/v1/audit/reservations/43", ""); strings.TrimSpace(rec.Body.String()) != "[]" {
		t.Errorf("nobody took it out: %s", rec.Body)
	}
}

func TestWithoutAnAuditThereIsNoneToRead(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{"/api/v1/audit", "/api/v1/audit.csv", "/api/v1/audit/reservations/1"} {
		wantProblem(t, w.call("GET", target, ""), 404, "not-found")
	}
}

func TestTheAuditsRoutesAreDocumented(t *testing.T) {
	server := httptest.NewServer(newWorld(t, audited(&fakeAudit{}, nil)))
	defer server.Close()
	res, err := server.Client().Get(server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	paths := decode[object](t, res.Body)["paths"].(object)
	for _, path := range []string{"/api/v1/audit", "/api/v1/audit.csv", "/api/v1/audit/reservations/{id}"} {
		get, ok := paths[path].(object)["get"].(object)
		if !ok {
			t.Fatalf("%s is not documented", path)
		}
		checkParameters(t, "GET "+path, get)
		checkResponses(t, "GET "+path, get)
	}
}
