package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"rowmill/audit"
)

// Who asks for what is behind the masks is of interest, whether or not they get it.
func TestARefusalOfPersonalDataIsAudited(t *testing.T) {
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/api/v1/reservations?_end=10&personal=true", ""},
		{"GET", "/api/v1/reservations/3?personal=true", ""},
		{"POST", exportsPath, `{"personal":true,"reason":"a good one"}`},
		{"POST", exportsPath + "/preflight", `{"personal":true}`},
	} {
		a := &fakeAudit{}
		w := newWorld(t, audited(a, nil))
		w.ActAs(operator)
		if rec := w.call(c.method, c.target, c.body); rec.Code != 403 || !strings.Contains(rec.Body.String(), "pii:read is needed") {
			t.Errorf("%s %s: %d %s", c.method, c.target, rec.Code, rec.Body)
		}
		if got := a.recorded(); len(got) != 1 || got[0].Action != audit.Deny || got[0].Detail != "pii:read" || got[0].Actor != operator.Subject {
			t.Errorf("%s %s: the audit has %+v", c.method, c.target, got)
		}
		a.err = errors.New("full")
		if rec := w.call(c.method, c.target, c.body); rec.Code != 503 {
			t.Errorf("%s %s without an audit: %d", c.method, c.target, rec.Code)
		}
	}
}
