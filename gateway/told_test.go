package gateway_test

import (
	"strings"
	"testing"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/gateway"
)

// Whom rows were looked for by is personal wherever it is told.
func TestAFilterIsToldAsItsReaderMaySeeIt(t *testing.T) {
	const name, search, masked = "Hidden Kim", "Secret Lee", "H**"
	job := jobIn(export.Succeeded)
	job.ID, job.Scope.Personal = "job-clear", true
	job.Request.Filter = map[string][]string{"guest_name": {name}, "q": {search}}
	f := &fakeAudit{events: []audit.Event{{ID: "e", At: today.Add(-1), Action: audit.Create, Personal: true, Filter: job.Request.Filter}}}
	f.takings = []audit.Taking{{JobID: job.ID, Downloads: f.events}}
	for _, c := range []struct {
		target string
		need   access.Permission
	}{
		{exportsPath + "/job-clear", access.ReadAllExports},
		{exportsPath + "?all=true", access.ReadAllExports},
		{"/api/v1/audit", access.ReadAudit},
		{"/api/v1/audit.csv", access.ReadAudit},
		{"/api/v1/audit/reservations/1", access.ReadAudit},
	} {
		for _, may := range []bool{false, true} {
			w := newWorld(t, audited(f, withJobs(job)))
			p := access.Principal{Subject: "u", Permissions: []access.Permission{c.need}}
			if may {
				p.Permissions = append(p.Permissions, access.ReadPersonal)
			}
			w.ActAs(p)
			body := w.call("GET", c.target, "").Body.String()
			if got := strings.Contains(body, name) || strings.Contains(body, search); got != may || strings.Contains(body, masked) == may {
				t.Errorf("%s, with pii:read %t: %s", c.target, may, body)
			}
		}
	}
}

// A job's owner may have lost the permission since.
func TestAnOwnersFilterIsToldAsTheOwnerMaySeeItNow(t *testing.T) {
	job := jobIn(export.Queued)
	job.RequestedBy, job.Scope.Personal = operator.Subject, true
	job.Request.Filter = map[string][]string{"guest_phone": {"010-1234-5678"}}
	w := newWorld(t, withJobs(job))
	w.ActAs(operator)
	for _, method := range []string{"GET", "DELETE"} {
		view := decode[gateway.JobView](t, w.call(method, exportsPath+"/job-queued", "").Body)
		if got := view.Request.Filter["guest_phone"]; len(got) != 1 || got[0] != "010-****-**78" {
			t.Errorf("%s: %v", method, got)
		}
	}
	if rec := w.call("GET", exportsPath+"/job-queued/events", ""); strings.Contains(rec.Body.String(), "1234") {
		t.Errorf("the stream: %s", rec.Body)
	}
}
