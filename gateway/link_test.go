package gateway_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/gateway"
)

const linkOf = exportsPath + "/job-succeeded/link"

// linked is a world with a succeeded job and a link to its file.
type linked struct {
	*world
	grants *fakeGrants
	audit  *fakeAudit
	now    time.Time
	path   string
}

func newLinked(t *testing.T) *linked {
	t.Helper()
	l := &linked{grants: &fakeGrants{}, audit: &fakeAudit{}, now: today}
	l.world = newWorld(t, func(w *world, c *gatewayConfig) {
		withGrants(l.grants, l.audit, jobIn(export.Succeeded), jobIn(export.Failed))(w, c)
		c.Now = func() time.Time { return l.now }
	})
	rec := l.call("POST", linkOf, "")
	view := decode[gateway.LinkView](t, rec.Body)
	if rec.Code != 201 || !view.ExpiresAt.Equal(today.Add(10*time.Minute)) || !strings.HasPrefix(view.URL, "/api/v1/files/") || rec.Header().Get("Location") != view.URL {
		t.Fatalf("%d %+v", rec.Code, view)
	}
	l.path = view.URL
	return l
}

// open reads the link without an identity.
func (l *linked) open(method, path string, header ...string) (status int, body []byte, get func(string) string) {
	rec := l.call(method, path, "", append(header, "Authorization", "")...)
	return rec.Code, rec.Body.Bytes(), rec.Header().Get
}

func TestALinkLeadsToItsFileWithoutIdentity(t *testing.T) {
	l := newLinked(t)
	for _, c := range []struct {
		name   string
		method string
		header []string
		status int
		body   []byte
	}{
		{"whole", "GET", nil, 200, fileBytes},
		{"head", "HEAD", nil, 200, nil},
		{"a part", "GET", []string{"Range", "bytes=600000-600003"}, 206, fileBytes[600000:600004]},
		{"unchanged", "GET", []string{"If-None-Match", `"` + fileSHA256 + `"`}, 304, nil},
	} {
		status, body, header := l.open(c.method, l.path, c.header...)
		if status != c.status || !bytes.Equal(body, c.body) {
			t.Errorf("%s: %d, %d bytes", c.name, status, len(body))
		}
		if got := header("Cache-Control"); got != "private, no-store, no-transform" || header("ETag") != `"`+fileSHA256+`"` || header("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: Cache-Control %q", c.name, got)
		}
	}
	token := strings.TrimPrefix(l.path, "/api/v1/files/")
	if text := l.log.String(); strings.Contains(text, token) || !strings.Contains(text, "/api/v1/files/:token") {
		t.Errorf("the log has the token, or not the route:\n%s", text)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || bytes.Contains(raw, []byte(gateway.Subject)) {
		t.Errorf("the token names its owner: %v", err)
	}
	if l.files.open != 0 {
		t.Errorf("%d readers were not closed", l.files.open)
	}
}

func TestLinksAndTheirDownloadsAreAudited(t *testing.T) {
	l := newLinked(t)
	l.open("GET", l.path)
	l.open("HEAD", l.path)
	var got []audit.Event
	for _, e := range l.audit.events {
		got = append(got, audit.Event{Action: e.Action, Actor: e.Actor, JobID: e.JobID, Rows: e.Rows, Bytes: e.Bytes, SHA256: e.SHA256, Detail: e.Detail})
	}
	made := audit.Event{Action: audit.Link, Actor: gateway.Subject, JobID: "job-succeeded", Rows: 1000, Bytes: int64(len(fileBytes)), SHA256: fileSHA256}
	read := made
	read.Action, read.Detail = audit.Download, "by a signed link"
	if d := cmp.Diff([]audit.Event{made, read}, got); d != "" {
		t.Error(d)
	}
	l.audit.err = errors.New("full")
	if status, body, _ := l.open("GET", l.path); status != 503 || bytes.Contains(body, fileBytes[:100]) {
		t.Errorf("a download that cannot be recorded: %d", status)
	}
	if rec := l.call("POST", linkOf, ""); rec.Code == 201 {
		t.Error("a link that cannot be recorded is made")
	}
}

func TestALinkEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		then   func(*linked)
		status int
	}{
		{"just before its time", func(l *linked) { l.now = today.Add(10*time.Minute - time.Second) }, 200},
		{"at its time", func(l *linked) { l.now = today.Add(10 * time.Minute) }, 410},
		{"the job has expired", func(l *linked) {
			l.jobs.change("job-succeeded", func(j *export.Job) { j.ExpiresAt = today })
		}, 410},
		{"the file is another", func(l *linked) {
			l.jobs.change("job-succeeded", func(j *export.Job) { j.File = &export.File{Key: "k2", Size: j.File.Size, SHA256: j.File.SHA256} })
		}, 404},
		{"the owner is another", func(l *linked) { l.jobs.change("job-succeeded", func(j *export.Job) { j.RequestedBy = "someone" }) }, 404},
		{"the owner may not export", func(l *linked) { l.grants.rows[gateway.Subject] = access.Grant{Subject: gateway.Subject} }, 403},
		{"the owner's grant is gone", func(l *linked) { delete(l.grants.rows, gateway.Subject) }, 403},
		{"the owner may not see the file's personal data", func(l *linked) {
			l.jobs.change("job-succeeded", func(j *export.Job) { j.Scope.Personal = true })
			l.grants.rows[gateway.Subject] = access.Grant{Subject: gateway.Subject, Permissions: []access.Permission{access.CreateExports}}
		}, 403},
	} {
		l := newLinked(t)
		c.then(l)
		if status, _, _ := l.open("GET", l.path); status != c.status {
			t.Errorf("%s: %d, want %d", c.name, status, c.status)
		}
	}
}

func TestNoAlteredTokenIsALink(t *testing.T) {
	l := newLinked(t)
	token := strings.TrimPrefix(l.path, "/api/v1/files/")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		altered := bytes.Clone(raw)
		altered[i] ^= 1
		if status, _, _ := l.open("GET", "/api/v1/files/"+base64.RawURLEncoding.EncodeToString(altered)); status != 404 {
			t.Errorf("byte %d altered: %d", i, status)
		}
	}
	other := newLinked(t)
	for name, token := range map[string]string{
		"cut": token[:len(token)-1], "longer": token + "A", "padded": token + "=", "none": "x", "of another key": strings.TrimPrefix(other.path, "/api/v1/files/"),
		"the job's id": "job-succeeded", "in the other alphabet": strings.NewReplacer("-", "+", "_", "%2F").Replace(token) + "%20",
	} {
		if status, body, _ := l.open("GET", "/api/v1/files/"+token); status != 404 || bytes.Contains(body, []byte("job-")) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, _ := l.open("GET", exportsPath+"/job-succeeded"); status != 401 {
		t.Errorf("the job itself without identity: %d", status)
	}
}

func TestOnlyOnesOwnReadyFileGetsALink(t *testing.T) {
	others := jobIn(export.Succeeded)
	others.ID, others.RequestedBy = "others", "someone"
	w := newWorld(t, withJobs(jobIn(export.Running), jobIn(export.Failed), jobIn(export.Expired), others))
	for id, want := range map[string]int{"job-running": 409, "job-failed": 409, "job-expired": 410, "others": 404, "none": 404} {
		if rec := w.call("POST", exportsPath+"/"+id+"/link", ""); rec.Code != want {
			t.Errorf("%s: %d, want %d", id, rec.Code, want)
		}
	}
}

// A link does not outlive its file.
func TestALinkOfAFileThatExpiresSoonExpiresWithIt(t *testing.T) {
	job := jobIn(export.Succeeded)
	job.ExpiresAt = today.Add(time.Minute)
	view := decode[gateway.LinkView](t, newWorld(t, withJobs(job)).call("POST", linkOf, "").Body)
	if !view.ExpiresAt.Equal(job.ExpiresAt) {
		t.Errorf("it expires at %v", view.ExpiresAt)
	}
}

// A file that was one's own to make is not one's own to take for ever.
func TestAFileIsForWhomMaySeeItNow(t *testing.T) {
	exporter := []access.Permission{access.CreateExports}
	for _, c := range []struct {
		name  string
		scope access.Scope
		who   access.Principal
		lacks string // "" if the file is theirs
	}{
		{"as before", access.Scope{Properties: []int64{1}}, access.Principal{Permissions: exporter, Properties: []int64{1, 2}}, ""},
		{"no personal data any more", access.Scope{Personal: true}, access.Principal{Permissions: exporter}, "pii:read"},
		{"a property less", access.Scope{Properties: []int64{1, 2}}, access.Principal{Permissions: exporter, Properties: []int64{1}}, "properties"},
	} {
		a := &fakeAudit{}
		job := jobIn(export.Succeeded)
		job.Scope = c.scope
		w := newWorld(t, audited(a, withJobs(job)))
		c.who.Subject = gateway.Subject
		w.ActAs(c.who)
		for method, path := range map[string]string{"GET": filePath, "HEAD": filePath, "POST": linkOf} {
			rec := w.call(method, path, "")
			if (rec.Code == 403) != (c.lacks != "") || rec.Code >= 400 && method != "HEAD" && !strings.Contains(rec.Body.String(), c.lacks) {
				t.Errorf("%s: %s %s gives %d %.200s", c.name, method, path, rec.Code, rec.Body)
			}
		}
		denied := 0
		for _, e := range a.recorded() {
			if e.Action == audit.Deny && e.Detail == "file of job-succeeded" {
				denied++
			}
		}
		if want := map[bool]int{true: 3, false: 0}[c.lacks != ""]; denied != want {
			t.Errorf("%s: the audit has %d denials, want %d", c.name, denied, want)
		}
	}
}
