package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rowmill/export"
	"rowmill/internal/browser"
	"rowmill/internal/config"
)

// isFileOf fails unless the file is what the job's receipt says.
func (b *browserApp) isFileOf(path, id string) {
	b.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if got, want := hex.EncodeToString(sum[:]), one[string](b, "SELECT file_sha256 FROM export_jobs WHERE id = ?", id); got != want {
		b.t.Errorf("%s has the hash %s, not %s", path, got, want)
	}
}

// A page stays open until the file's time is over.
func TestAFileWhoseTimeIsOverIsRefusedInWordsAndMadeAnew(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	u := b.operate("operator", "/reservations")
	id := u.order()
	u.done()
	b.exec("UPDATE export_jobs SET expires_at = ? WHERE id = ?", time.Now().UTC().Add(-time.Minute), id)
	u.press("download")
	u.shows("The file’s time is over")
	u.shows("Export again for a new one.")
	direct := u.Tab(browser.Options{})
	direct.Open(b.url + "/api/v1/exports/" + id + "/file")
	if got := direct.Text("body"); !strings.Contains(got, "410") || !strings.Contains(got, "detail") {
		t.Errorf("the file's address says %s", got)
	}
	history := u.Tab(browser.Options{})
	history.Open(b.url + "/exports")
	if got := history.Text("#job-" + id + " .badge"); got != "Expired" {
		t.Errorf("the history says %s", got)
	}
	if got := history.Texts("#job-" + id + " .actions a"); len(got) != 0 {
		t.Errorf("the history still offers %q", got)
	}
	next := u.again()
	path := u.Download(t.TempDir(), func() { u.press("download") })
	b.isFileOf(path, next)
	b.jobs(2)
	if n := one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'export.download' AND job_id = ?", id); n != 0 {
		t.Errorf("the expired file counts as downloaded %d times", n)
	}
}

func TestAFailedExportSaysWhatToDoAndIsTriedAgain(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, idle: true, change: func(cfg *config.Config) { paged(cfg); cfg.MaxFailures = 1 }})
	var broken atomic.Bool
	broken.Store(true)
	b.gate.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		if broken.Load() {
			return brokenPage(w, r)
		}
		return b.gate.wait(w, r)
	}
	b.startWorker()
	u := b.operate("operator", "/reservations")
	id := u.order()
	u.shows("The export failed")
	u.shows("Try again. If it fails again, tell your support this number: " + id)
	if job := u.Eval("document.querySelector('export-button').job.failure.message"); job == "" || u.Eval(fmt.Sprintf("%s.innerText.includes(%q)", inside("[part=card]"), job)) != "true" {
		t.Errorf("the button does not say %q", job)
	}
	b.is(id, export.Failed)
	history := u.Tab(browser.Options{})
	history.Open(b.url + "/exports")
	history.See("#again-" + id)
	broken.Store(false)
	if next := u.again(); next == id {
		t.Error("the failed job has gone on")
	}
	b.is(id, export.Failed)
	b.jobs(2)
}

// An export ends while its user is on another page of the backoffice.
func TestTheTitleTellsOfAnExportThatEndedElsewhere(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	for _, path := range []string{"/exports", "/reservations/1"} {
		t.Run(path, func(t *testing.T) {
			b.gate.hold(2)
			u := b.operate("operator", "/reservations")
			u.order()
			u.shows("20 of 60 rows")
			u.Open(b.url + path)
			title := u.Eval("document.title")
			if strings.HasPrefix(title, "(") {
				t.Errorf("the title counts before the end: %s", title)
			}
			b.gate.release()
			u.Wait("document.title === " + quoted("(1) "+title))
			u.Wait("document.getElementById('announce').textContent === 'Your export is ready to download.'")
			u.Press("x") // somebody is there
			u.Wait("document.title === " + quoted(title))
		})
	}
}

func TestTheBackofficeInKorean(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	u := b.operate("operator", "/reservations")
	if got := u.Text("h1"); got != "Reservations" {
		t.Errorf("in English the page is headed %q", got)
	}
	u.Click(".languages a[lang=ko]")
	u.Wait("document.documentElement.lang === 'ko' && document.querySelector('h1')?.innerText === '예약'")
	u.Wait(inside("[part=button]") + "?.innerText === '내보내기'")
	u.press("button")
	u.Wait(inside("[part=panel]") + "?.innerText.includes('파일로 내보내기')")
	u.press("start")
	u.shows("파일이 준비되었습니다")
	u.Click("nav a[href='/exports']") // the choice is kept
	u.Wait("document.querySelector('h1')?.innerText === '내 내보내기'")
	if got := u.Text(".badge"); got != "완료" {
		t.Errorf("the job's state reads %q", got)
	}
	if got := one[string](b, "SELECT request FROM export_jobs"); !strings.Contains(got, `"language":"ko"`) {
		t.Errorf("the file's language is not the page's: %s", got)
	}
	u.Click(".languages a[lang=en]")
	u.Wait("document.querySelector('h1')?.innerText === 'My exports'")
}

func TestAfterTheSignOutNothingIsShown(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, change: paged})
	u := b.operate("operator", "/reservations")
	u.Click("form[action='/auth/logout'] button")
	u.Wait("document.body?.innerText.includes('You are signed out of Rowmill.')")
	const signInShown = "location.pathname.startsWith('/auth/') && document.querySelector('button[value=operator]') && !document.querySelector('table')"
	u.Eval("(history.back(), '')")
	u.Wait(signInShown)
	u.Eval("(window.before = true, location.reload(), '')")
	u.Wait("!window.before && " + signInShown)
	u.Open(b.url + "/api/v1/reservations")
	if got := u.Text("body"); !strings.Contains(got, "401") {
		t.Errorf("the API answers %s", got)
	}
	if n := one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'sign-out' AND actor = 'development-operator'"); n != 1 {
		t.Errorf("%d sign-outs are on record", n)
	}
}

// examplePage serves the example of another backoffice's page, which calls the
// gateway at the address.
func examplePage(t *testing.T, gateway *atomic.Value) *httptest.Server {
	t.Helper()
	page, err := os.ReadFile("../../examples/plain.html")
	if err != nil {
		t.Fatal(err)
	}
	const theirs = "http://localhost:8080"
	if n := strings.Count(string(page), `"`+theirs); n != 2 {
		t.Fatalf("the example names its gateway %d times", n)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(strings.ReplaceAll(string(page), theirs, gateway.Load().(string)))) // a browser that has gone
	}))
	t.Cleanup(s.Close)
	return s
}

func TestTheExamplePageExportsAcrossOrigins(t *testing.T) {
	var gateway atomic.Value
	page := examplePage(t, &gateway)
	b := bootBrowserApp(t, browserOptions{rows: 60, change: func(cfg *config.Config) { paged(cfg); cfg.AllowedOrigins = []string{page.URL} }})
	gateway.Store(b.url)
	u := &operating{browser.New(t, browser.Options{}), b}
	u.Open(page.URL + "/")
	u.Type("#token", "not the token")
	u.press("button")
	u.Wait(inside(".error") + "?.innerText.includes('You are not signed in')")
	u.press("dismiss")
	u.Wait("!" + inside("dialog"))
	u.Eval("document.querySelector('#token').value = ''")
	u.Type("#token", b.token)
	id := u.order()
	u.done()
	u.Wait("document.querySelector('#log').textContent.includes('export-done: succeeded 100 %')")
	b.isFileOf(u.Download(t.TempDir(), func() { u.press("download") }), id)
	b.jobs(1)
	if n := one[int64](b, "SELECT COUNT(*) FROM audit_events WHERE action = 'export.link' AND job_id = ?", id); n != 1 {
		t.Errorf("%d links are on record", n)
	}
}

func TestAPageOfAnOriginThatIsNotAllowedGetsNothing(t *testing.T) {
	var gateway atomic.Value
	page := examplePage(t, &gateway)
	b := bootBrowserApp(t, browserOptions{rows: 60, idle: true, change: func(cfg *config.Config) { paged(cfg); cfg.AllowedOrigins = []string{"https://backoffice.example"} }})
	gateway.Store(b.url)
	u := browser.New(t, browser.Options{})
	u.Open(page.URL + "/")
	got := u.Eval(fmt.Sprintf(`fetch(%q, {headers: {Authorization: "Bearer " + %q}}).then((r) => r.status, (e) => e.name)`, b.url+"/api/v1/reservations", b.token))
	if got != "TypeError" {
		t.Errorf("the page reads %s", got)
	}
	if got := u.Eval(fmt.Sprintf(`fetch(%q, {method: "POST", headers: {Authorization: "Bearer " + %q, "Content-Type": "application/json"}, body: "{}"}).then((r) => r.status, (e) => e.name)`, b.url+"/api/v1/exports", b.token)); got != "TypeError" {
		t.Errorf("the page exports: %s", got)
	}
	b.jobs(0)
}
