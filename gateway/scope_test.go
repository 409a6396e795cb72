package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/gateway"
)

var (
	manager = access.Principal{Subject: "kim", Properties: []int64{7, 9},
		Permissions: []access.Permission{access.ReadReservations, access.CreateExports, access.ReadPersonal}}
	operator = access.Principal{Subject: "lee", Properties: []int64{7},
		Permissions: []access.Permission{access.ReadReservations, access.CreateExports}}
)

func actAs(t *testing.T, p access.Principal) *world {
	t.Helper()
	w := newWorld(t, nil)
	w.ActAs(p)
	return w
}

// Each call for rows carries what its caller sees, and no more than was asked for.
func TestTheListHasTheCallersScope(t *testing.T) {
	for _, c := range []struct {
		name, target string
		caller       access.Principal
		want         access.Scope
	}{
		{"a list", listPath + "?_end=10", operator, access.Scope{Properties: []int64{7}}},
		{"a list, masked by wish", listPath + "?_end=10&personal=false", manager, access.Scope{Properties: []int64{7, 9}}},
		{"a list, masked by default", listPath + "?_end=10", manager, access.Scope{Properties: []int64{7, 9}}},
		{"a list in the clear", listPath + "?_end=10&personal=true", manager, access.Scope{Properties: []int64{7, 9}, Personal: true}},
		{"one by a name", listPath + "?_end=10&personal=true&guest_name_like=K", manager, access.Scope{Properties: []int64{7, 9}, Personal: true}},
		{"a row", listPath + "/3", manager, access.Scope{Properties: []int64{7, 9}}},
		{"a row in the clear", listPath + "/3?personal=true", manager, access.Scope{Properties: []int64{7, 9}, Personal: true}},
		{"of no property", listPath + "?_end=10", access.Principal{Permissions: operator.Permissions, Properties: []int64{}}, access.Scope{Properties: []int64{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := actAs(t, c.caller)
			rec := w.call("GET", c.target, "")
			if rec.Code != http.StatusOK || len(w.reservations.queries) != 1 {
				t.Fatalf("%d after %d calls: %s", rec.Code, len(w.reservations.queries), rec.Body)
			}
			if diff := cmp.Diff(c.want, w.reservations.queries[0].Scope); diff != "" {
				t.Error(diff)
			}
			if rec.Header().Get("Cache-Control") != "no-store" || rec.Header().Get("ETag") != "" {
				t.Errorf("a cache may keep what one caller sees: %v", rec.Header())
			}
		})
	}
}

func TestTheListRefusesWhatTheCallerMayNotSee(t *testing.T) {
	for _, c := range []struct {
		target string
		caller access.Principal
		detail string
	}{
		{"?_end=10&personal=true", operator, "pii:read is needed"},
		{"/3?personal=true", operator, "pii:read is needed"},
		{"?_end=10&guest_name=Kim", operator, "pii:read is needed to filter by guest_name"},
		{"?_end=10&memo_null=false", operator, "pii:read is needed to filter by memo"},
		{"?_end=10&guest_phone=010", manager, "pii:read is needed to filter by guest_phone, with personal=true"}, // not asked in the clear
	} {
		w := actAs(t, c.caller)
		p := wantProblem(t, w.call("GET", listPath+c.target, ""), http.StatusForbidden, "forbidden")
		if !strings.Contains(p.Detail, c.detail) || len(w.reservations.queries) != 0 {
			t.Errorf("%s: %q after %d calls", c.target, p.Detail, len(w.reservations.queries))
		}
	}
	w := actAs(t, manager)
	for _, target := range []string{"?_end=1&personal=yes", "?_end=1&personal=", "?_end=1&personal=true&personal=false", "/3?personal=maybe"} {
		if messages(wantProblem(t, w.call("GET", listPath+target, ""), http.StatusBadRequest, "invalid")) == nil {
			t.Errorf("%s: nothing is named", target)
		}
	}
}

func TestAnOrderBecomesAJobOfItsRequestersScope(t *testing.T) {
	for _, c := range []struct {
		name, body string
		caller     access.Principal
		want       access.Scope
		reason     string
	}{
		{"masked", `{}`, operator, access.Scope{Properties: []int64{7}}, ""},
		{"masked by default", `{"reason":" no need "}`, manager, access.Scope{Properties: []int64{7, 9}}, "no need"},
		{"in the clear", `{"personal":true,"reason":"  a guest asked for it  "}`, manager, access.Scope{Properties: []int64{7, 9}, Personal: true}, "a guest asked for it"},
		{"by a name", `{"personal":true,"reason":"audit","filter":{"guest_name_like":"K"}}`, manager, access.Scope{Properties: []int64{7, 9}, Personal: true}, "audit"},
		{"no personal column, no reason", `{"personal":true,"columns":["id","country"]}`, manager, access.Scope{Properties: []int64{7, 9}, Personal: true}, ""},
		{"the longest reason", `{"personal":true,"reason":"` + strings.Repeat("김", 500) + `"}`, manager, access.Scope{Properties: []int64{7, 9}, Personal: true}, strings.Repeat("김", 500)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := actAs(t, c.caller)
			rec := w.call("POST", exportsPath, c.body)
			if rec.Code != http.StatusAccepted {
				t.Fatalf("%d: %s", rec.Code, rec.Body)
			}
			view := decode[gateway.JobView](t, rec.Body)
			job, err := w.jobs.Get(t.Context(), view.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, job.Scope); diff != "" {
				t.Error(diff)
			}
			if job.Request.Reason != c.reason || view.Request.Reason != c.reason || view.Personal != c.want.Personal || job.RequestedBy != c.caller.Subject {
				t.Errorf("reason %q, personal %t, by %s", view.Request.Reason, view.Personal, job.RequestedBy)
			}
			if len(w.reservations.counted) != 1 || cmp.Diff(c.want, w.reservations.counted[0].Scope) != "" {
				t.Errorf("rows are counted as %+v", w.reservations.counted)
			}
		})
	}
}

func TestAnOrderForPersonalDataIsRefused(t *testing.T) {
	control := "a good\\nreason"
	for _, c := range []struct {
		name, body string
		caller     access.Principal
		status     int
		detail, at string
	}{
		{"without the permission", `{"personal":true,"reason":"a good one"}`, operator, 403, "pii:read is needed", ""},
		{"without the permission or a reason", `{"personal":true}`, operator, 403, "pii:read is needed", ""},
		{"by a filter", `{"filter":{"guest_name":["Kim"]}}`, operator, 403, "pii:read is needed to filter by guest_name", ""},
		{"by a filter, not in the clear", `{"filter":{"guest_email_null":"true"}}`, manager, 403, "pii:read is needed to filter by guest_email, with personal=true", ""},
		{"without a reason", `{"personal":true}`, manager, 400, "reason", "body.reason"},
		{"with a short reason", `{"personal":true,"reason":"a b c d"}`, manager, 400, "reason", "body.reason"},
		{"with a reason of spaces", `{"personal":true,"reason":"          "}`, manager, 400, "reason", "body.reason"},
		{"with a reason that is not to be seen", `{"personal":true,"reason":"\u200b\u200b\u200b\u200b\u200b"}`, manager, 400, "reason", "body.reason"},
		{"with a reason of fillers", `{"personal":true,"reason":"\u3164\u115f\u1160\uffa0\u2800\ufe0f\u034f\u17b4"}`, manager, 400, "reason", "body.reason"},
		{"with a reason that reads backwards", `{"reason":"a good \u202eone"}`, operator, 400, "not valid", "body.reason"},
		{"with a reason in isolation", `{"reason":"a good \u2067one"}`, operator, 400, "not valid", "body.reason"},
		{"with a reason of two lines", `{"reason":"a good\u2028one"}`, operator, 400, "not valid", "body.reason"},
		{"with an endless reason", `{"personal":true,"reason":"` + strings.Repeat("x", 501) + `"}`, manager, 400, "not valid", "body.reason"},
		{"with control characters", `{"personal":true,"reason":"` + control + `"}`, manager, 400, "not valid", "body.reason"},
		{"with control characters that are of no need", `{"reason":"` + control + `"}`, operator, 400, "not valid", "body.reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := actAs(t, c.caller)
			kind := map[int]string{400: "invalid", 403: "forbidden"}[c.status]
			p := wantProblem(t, w.call("POST", exportsPath, c.body), c.status, kind)
			if !strings.Contains(p.Detail, c.detail) || c.at != "" && messages(p)[c.at] == "" {
				t.Errorf("%q, %+v", p.Detail, p.Errors)
			}
			if c.at != "" && len(p.Errors) != 1 {
				t.Errorf("told more than once: %+v", p.Errors)
			}
			if len(w.jobs.all()) != 0 {
				t.Error("a job was made")
			}
		})
	}
}

// A second click may not give its caller a file of more than they may see now.
func TestAClickWithAnotherScopeIsAnotherJob(t *testing.T) {
	w := newWorld(t, nil)
	properties := [][]int64{nil, {7}, {}}
	ids := map[string]bool{}
	for _, p := range properties {
		w.ActAs(access.Principal{Subject: "kim", Permissions: access.Permissions(), Properties: p}) // the last one holds
		for _, body := range []string{`{"reason":"an audit"}`, `{"reason":"an audit","personal":true}`} {
			for range 2 {
				ids[decode[gateway.JobView](t, w.call("POST", exportsPath, body).Body).ID] = true
			}
		}
	}
	if len(ids) != 2*len(properties) {
		t.Errorf("%d jobs for %d scopes", len(ids), 2*len(properties))
	}
}

func TestTheDocumentTellsOfPersonalData(t *testing.T) {
	document := newWorld(t, nil).call("GET", "/openapi.json", "").Body.String()
	for _, part := range []string{`"name":"personal"`, `"reason":{`, `"maxLength":500`, "pii:read"} {
		if !strings.Contains(document, part) {
			t.Errorf("%s is not in the document", part)
		}
	}
}
