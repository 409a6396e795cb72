package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/browser"
	"rowmill/internal/config"
)

// operating is a user before the list of reservations and its export-button.
type operating struct {
	*browser.Page
	b *browserApp
}

// paged makes jobs of 60 rows six pages, which the gate lets pass one by one.
func paged(cfg *config.Config) {
	cfg.PageSize, cfg.ReportEvery, cfg.CallRate = 10, 50*time.Millisecond, 0 // the tests are impatient users
}

// operate gives a browser of its own whose user has chosen the role, at the address.
func (b *browserApp) operate(role, path string) *operating {
	b.t.Helper()
	u := &operating{browser.New(b.t, browser.Options{}), b}
	u.Open(b.url + path)
	u.Click("button[value=" + role + "]")
	u.Wait("location.pathname === " + quoted(path) + " && document.readyState === 'complete'")
	return u
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// inside gives what the selector finds in the button, as an expression.
func inside(selector string) string {
	return "document.querySelector('export-button')?.shadowRoot?.querySelector(" + quoted(selector) + ")"
}

func (u *operating) press(part string) {
	u.b.t.Helper()
	u.PressMouse(inside("[part="+part+"]"), 1)
}

// shows waits until the button's card says it.
func (u *operating) shows(text string) {
	u.b.t.Helper()
	u.Wait(fmt.Sprintf("((e) => e && !e.hidden && e.innerText.includes(%q))(%s)", text, inside("[part=card]")))
}

// order asks for the list's rows, and gives the job that came of it.
func (u *operating) order() (id string) {
	u.b.t.Helper()
	u.press("button")
	u.press("start")
	return u.job()
}

// job gives the id of the job that the button shows.
func (u *operating) job() string {
	u.b.t.Helper()
	u.Wait("document.querySelector('export-button')?.job")
	return u.Eval("document.querySelector('export-button').job.id")
}

// done waits until the button says that the file is there, and gives the job.
func (u *operating) done() (id string) {
	u.b.t.Helper()
	u.shows("The file is ready")
	return u.job()
}

// one gives the one value that a query of the product's tables gives.
func one[T any](b *browserApp, query string, args ...any) (v T) {
	b.t.Helper()
	if err := b.tables().QueryRowContext(b.t.Context(), query, args...).Scan(&v); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// jobs fails unless so many jobs have been made.
func (b *browserApp) jobs(want int64) {
	b.t.Helper()
	if n := one[int64](b, "SELECT COUNT(*) FROM export_jobs"); n != want {
		b.t.Errorf("%d jobs were made, want %d", n, want)
	}
}

// is fails unless the job stands so.
func (b *browserApp) is(id string, want export.Status) {
	b.t.Helper()
	if got := one[string](b, "SELECT status FROM export_jobs WHERE id = ?", id); got != string(want) {
		b.t.Errorf("the job is %s, want %s", got, want)
	}
}

// A reload in the middle: the same job goes on in the same button.
func TestAReloadGoesOnWithTheSameExport(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	b.gate.hold(2)
	u := b.operate("operator", "/reservations")
	id := u.order()
	u.shows("20 of 60 rows")
	u.Reload()
	u.shows("20 of 60 rows")
	if got := u.job(); got != id {
		t.Errorf("after the reload the button shows %s, not %s", got, id)
	}
	if got := u.Eval(inside("[part=button]") + ".disabled"); got != "true" {
		t.Error("another export can be started beside it")
	}
	b.gate.release()
	if got := u.done(); got != id {
		t.Errorf("ended is %s, not %s", got, id)
	}
	u.Reload()
	u.done()
	b.is(id, export.Succeeded)
	b.jobs(1)
}

func TestADoubleClickIsOneExport(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	u := b.operate("operator", "/reservations")
	u.PressMouse(inside("[part=button]"), 2)
	u.PressMouse(inside("[part=start]"), 2)
	id := u.done()
	b.is(id, export.Succeeded)
	b.jobs(1)
	if n := one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'export.create'"); n != 1 {
		t.Errorf("%d exports were asked for", n)
	}
}

func TestCancelOfARunningExport(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	b.gate.hold(2)
	u := b.operate("operator", "/reservations")
	id := u.order()
	u.shows("20 of 60 rows")
	u.press("cancel")
	u.shows("The export was canceled")
	b.gate.release()
	b.is(id, export.Canceled)
	u.Reload()
	u.shows("The export was canceled")
	awaitFiles(t, filepath.Join(b.cfg.DataDir, "files"), nil)
	u.press("retry")
	if again := u.done(); again == id {
		t.Error("the canceled job has gone on")
	}
	b.is(id, export.Canceled)
	b.jobs(2)
}

func TestCancelOfAQueuedExportInTheHistory(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged, idle: true})
	u := b.operate("operator", "/reservations")
	id := u.order()
	u.Click("nav a[href='/exports']")
	u.Wait(fmt.Sprintf("document.querySelector('#job-%s .badge')?.innerText === 'Waiting'", id))
	u.Click("#cancel-" + id)
	u.Wait(fmt.Sprintf("document.querySelector('#job-%s .badge')?.innerText === 'Canceled'", id))
	b.is(id, export.Canceled)
	b.startWorker()
	u.Open(b.url + "/reservations")
	u.shows("The export was canceled")
	next := u.again() // runs after whatever the worker found
	b.is(next, export.Succeeded)
	b.is(id, export.Canceled)
	if files := storedFiles(t, filepath.Join(b.cfg.DataDir, "files")); len(files) != 1 {
		t.Errorf("files: %q, want the second job's alone", files)
	}
}

// again asks for the same anew, and gives the new job when it is done.
func (u *operating) again() (id string) {
	u.b.t.Helper()
	before := u.job()
	u.press("retry")
	u.Wait("document.querySelector('export-button').job.id !== " + quoted(before))
	return u.done()
}

func TestWithoutAWorkerThePageSaysSoAndGoesOnByItself(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged, idle: true})
	u := b.operate("operator", "/reservations")
	u.press("button")
	u.Wait(inside("[part=warning]") + "?.innerText.includes('No worker is running')")
	u.press("start")
	id := u.job()
	b.exec("UPDATE export_jobs SET created_at = ?", time.Now().UTC().Add(-2*export.WorkerLost)) // time passes
	u.shows("No worker is running")
	history := u.Tab(browser.Options{})
	history.Open(b.url + "/exports")
	history.Wait("document.querySelector('#job-" + id + " .phase')?.innerText.includes('No worker is running')")
	b.startWorker()
	if got := u.done(); got != id {
		t.Errorf("done is %s, not %s", got, id)
	}
	history.Wait("document.querySelector('#job-" + id + " .badge')?.innerText === 'Ready'")
	b.jobs(1)
}

// The gateway goes away in the middle, and comes back.
func TestARestartOfTheServerIsWaitedOut(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{servers: true, rows: 60, change: paged})
	b.gate.hold(2)
	u := &operating{b.user(browser.Options{}), b}
	u.Open(b.url + "/reservations")
	id := u.order()
	u.shows("20 of 60 rows")
	b.stopGateway()
	u.shows("Connection lost. Trying again…")
	u.shows("20 of 60 rows")
	b.startGateway()
	b.gate.release()
	if got := u.done(); got != id {
		t.Errorf("done is %s, not %s", got, id)
	}
	if u.Eval(inside("[part=card]")+".innerText.includes('Connection lost')") != "false" {
		t.Error("the connection is still said to be lost")
	}
	b.is(id, export.Succeeded)
	b.jobs(1)
}
