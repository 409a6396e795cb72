package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowmill/internal/browser"
	"rowmill/internal/config"
)

// status gives what the API answers the user's browser.
func (u *operating) status(method, path, body string) string {
	u.b.t.Helper()
	send := fmt.Sprintf("{method: %q, headers: {'Content-Type': 'application/json'}", method)
	if body != "" {
		send += ", body: " + quoted(body)
	}
	return u.Eval(fmt.Sprintf("fetch(%q, %s}).then((r) => r.status)", path, send))
}

// refused fails unless the page says that the permission is missing, and nothing else.
func (u *operating) refused(path, permission string) {
	u.b.t.Helper()
	u.Open(u.b.url + path)
	if got := u.Text(".problem"); !strings.Contains(got, "You may not see this") || !strings.Contains(got, permission) {
		u.b.t.Errorf("%s says %s", path, got)
	}
	if n := len(u.Texts("main table")); n != 0 {
		u.b.t.Errorf("%s shows %d tables", path, n)
	}
	if got := u.status("GET", path, ""); got != "403" {
		u.b.t.Errorf("%s answers %s", path, got)
	}
}

func denials(b *browserApp, actor, rule string) int64 {
	return one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'deny' AND actor = ? AND detail LIKE ?", actor, "%"+rule+"%")
}

func TestAViewerSeesTheListAndTakesNothingOut(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged, idle: true})
	u := b.operate("viewer", "/reservations")
	if n := len(u.Texts("table.list tbody tr")); n != 20 {
		t.Errorf("the list has %d rows", n)
	}
	if got := u.Eval("document.querySelectorAll('export-button, button[data-order]').length"); got != "0" {
		t.Errorf("%s buttons export", got)
	}
	if got := u.Eval("document.querySelectorAll(\"nav a[href='/exports'], nav a[href='/audit']\").length"); got != "0" {
		t.Errorf("%s links lead where the viewer may not go", got)
	}
	u.refused("/exports", "exports:create")
	u.refused("/audit", "audit:read")
	before := denials(b, "development-viewer", "exports:create")
	for _, path := range []string{"/api/v1/exports", "/api/v1/exports/0198c0de-0000-7000-8000-000000000000/again"} {
		if got := u.status("POST", path, "{}"); got != "403" {
			t.Errorf("a POST by hand to %s is answered with %s", path, got)
		}
	}
	if n := denials(b, "development-viewer", "exports:create") - before; n != 2 {
		t.Errorf("%d refusals are on record", n)
	}
	b.jobs(0)
}

func TestAnOperatorSeesNoPersonalData(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	b.exec("UPDATE guests SET name = '황보은결'")
	const address = "/reservations?_fields=id,guest_name&personal=true"
	manager := b.operate("manager", "/reservations")
	manager.Open(b.url + address)
	if got := manager.Text("table.list"); !strings.Contains(got, "황보은결") {
		t.Fatalf("not even the manager sees the name: %.200s", got)
	}
	u := b.operate("operator", "/reservations")
	for _, path := range []string{address, "/reservations/1?personal=true"} {
		u.Open(b.url + path)
		if got := u.Text("main"); strings.Contains(got, "황보은결") {
			t.Errorf("%s shows the name to the operator", path)
		}
		if n := len(u.Texts(".switch")); n != 0 {
			t.Errorf("%s offers to show it", path)
		}
	}
	if got := u.status("POST", "/api/v1/exports", `{"columns":["id","guest_name"],"personal":true,"reason":"out of curiosity"}`); got != "403" {
		t.Errorf("a file with it is answered with %s", got)
	}
	b.jobs(0)
	u.Open(b.url + address)
	u.press("button")
	u.Wait(inside("[part=start]") + "?.disabled === false")
	if got := u.Eval(inside(".personal") + ".hidden"); got != "true" {
		t.Error("the button offers personal data")
	}
	u.press("start")
	u.done()
	if got := u.Eval("fetch(document.querySelector('export-button').job.links.file).then((r) => r.ok)"); got != "true" {
		t.Errorf("the masked file: %s", got)
	}
	if n := one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'export.create' AND personal <> 0"); n != 0 {
		t.Errorf("%d exports in the clear", n)
	}
}

// colleagues are two users of the same rights, and one who watches over them.
func colleagues(t *testing.T) func(*config.Config) {
	t.Helper()
	const policy = `{"anna": {"permissions": ["reservations:read", "exports:create"]}, "bert": {"permissions": ["reservations:read", "exports:create"]},
		"chief": {"permissions": ["reservations:read", "exports:create", "exports:read-all"]}}`
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(cfg *config.Config) { paged(cfg); cfg.Policy = path }
}

func TestTwoUsersDoNotMeet(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: colleagues(t)})
	users, ids := map[string]*operating{}, map[string]string{}
	for _, name := range []string{"anna", "bert"} {
		users[name] = b.operate(name, "/reservations")
		users[name].order()
		ids[name] = users[name].done()
	}
	if ids["anna"] == ids["bert"] {
		t.Fatal("the two have one job")
	}
	b.jobs(2)
	for name, other := range map[string]string{"anna": "bert", "bert": "anna"} {
		u := users[name]
		u.Open(b.url + "/exports")
		u.See("#job-" + ids[name])
		if got := u.Eval("[...document.querySelectorAll('tr[data-job]')].map((e) => e.dataset.job).join()"); got != ids[name] {
			t.Errorf("%s sees the exports %s", name, got)
		}
		self := "/api/v1/exports/" + ids[other]
		for _, call := range [][2]string{{"GET", self}, {"GET", self + "/file"}, {"GET", self + "/events"}, {"DELETE", self}, {"POST", self + "/again"}, {"POST", self + "/link"}} {
			if got := u.status(call[0], call[1], ""); got != "404" {
				t.Errorf("%s %s of %s answers %s %s", call[0], call[1], other, name, got)
			}
		}
		if got := u.status("GET", "/api/v1/exports/"+ids[name]+"/file", ""); got != "200" {
			t.Errorf("one's own file: %s", got)
		}
		u.refused("/exports?all=true", "exports:read-all")
	}
	b.jobs(2)
	b.chiefSees(ids)
}

// chiefSees fails unless who may see all exports sees these, and no file of them.
func (b *browserApp) chiefSees(ids map[string]string) {
	b.t.Helper()
	u := b.operate("chief", "/exports")
	if n := len(u.Texts("tr[data-job]")); n != 0 {
		b.t.Errorf("the chief has %d exports", n)
	}
	u.Open(b.url + "/exports?all=true")
	for name, id := range ids {
		if got := u.Text("#job-" + id); !strings.Contains(got, "development-"+name) {
			b.t.Errorf("the chief reads %s", got)
		}
		if n := len(u.Texts("#job-" + id + " .actions a, #job-" + id + " .actions button")); n != 0 {
			b.t.Errorf("the chief is offered %d actions", n)
		}
		if got := u.Eval("fetch('/api/v1/exports/" + id + "').then((r) => r.json()).then((j) => j.id + ' ' + j.links.file)"); got != id+" undefined" {
			b.t.Errorf("the chief's view of the job: %s", got)
		}
		if got := u.status("GET", "/api/v1/exports/"+id+"/file", ""); got != "404" {
			b.t.Errorf("the file answers the chief %s", got)
		}
	}
	p := browser.New(b.t, browser.Options{}) // nobody
	p.Open(b.url + "/api/v1/exports/" + ids["anna"] + "/file")
	if got := p.Text("body"); !strings.Contains(got, "401") {
		b.t.Errorf("the file answers nobody %s", got)
	}
}
