package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rowmill/internal/browser"
	"rowmill/internal/config"
)

// Whatever state a page is in, everybody can use it: in the light, in the dark, and
// on a phone without scrolling sideways.
func TestEveryStateOfThePagesIsAccessible(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 120, idle: true, change: func(cfg *config.Config) { cfg.PageSize = 20 }})
	p := browser.New(t, browser.Options{})
	at := func(path string) func() { return func() { p.Open(b.url + path) } }
	onTheList := func() { p.Open(b.url + "/reservations"); p.Wait(ofButton("button")) }
	for _, state := range []struct {
		name  string
		shows string // by which the state is known; "": come has waited for it
		come  func()
	}{
		{"the sign-in", "Choose whose part", at("/auth/login?return_to=/reservations")},
		{"a sign-in that fails", "Not signed in", at("/auth/callback")},
		{"about, to a stranger", "Sign in", at("/about")},
		{"a missing permission", "audit:read", func() { b.signIn(p, "viewer", "/audit") }},
		{"the list masked", "Personal data are masked", func() { b.signIn(p, "viewer", "/reservations") }},
		{"the list", "1–20 of 120", func() { b.signIn(p, "admin", "/reservations"); p.Wait(ofButton("button")) }},
		{"the list filtered, in the clear", "Amount", at("/reservations?status=Canceled&status=Check-Out&check_in_gte=2023-01-01&_sort=amount&_order=desc&personal=true&_page=2")},
		{"the choice of columns", "Apply columns", func() { p.Open(b.url + "/reservations"); p.Click("details.columns summary") }},
		{"the list without a match", "No reservation matches", at("/reservations?code=none")},
		{"the list past its end", "past the end", at("/reservations?_page=900")},
		{"an address that is wrong", "cannot be read", at("/reservations?_sort=nope&nights=many&_page=0")},
		{"a reservation", "Back to the list", at("/reservations/7")},
		{"a reservation in the clear", "Back to the list", at("/reservations/7?personal=true")},
		{"a reservation that is none", "Not found", at("/reservations/9000")},
		{"no exports", "No exports here", at("/exports")},
		{"the panel", "", func() { onTheList(); press(p, "button"); reads(p, "estimate", "120") }},
		{"the panel with a reason", "", func() { inTheClear(p, "Month-end reconciliation") }},
		{"queued", "", func() { press(p, "start"); reads(p, "card", "") }},
		{"my exports, queued", "Waiting", func() { p.Open(b.url + "/exports"); p.See("progress") }},
		{"canceled", "", func() { onTheList(); press(p, "cancel"); reads(p, "card", "The export was canceled") }},
		{"running", "", func() {
			b.gate.hold(2)
			press(p, "retry")
			b.startWorker()
			reads(p, "card", "40 of 120 rows")
		}},
		{"my exports, running", "40 / 120", func() { p.Open(b.url + "/exports"); p.Wait("document.querySelector('.rows').innerText === '40 / 120'") }},
		{"done", "", func() { onTheList(); b.gate.release(); reads(p, "card", "The file is ready") }},
		{"my exports", "Download", func() {
			p.Download(filepath.Join(t.TempDir(), "downloads"), func() { press(p, "download") })
			p.Open(b.url + "/exports")
		}},
		{"my exports, opened", "SHA-256", func() { p.Click("tbody details summary") }},
		{"everybody's exports", "development-admin", at("/exports?all=true")},
		{"the audit", "File downloaded", at("/audit")},
		{"the audit, opened", "SHA-256", func() { p.Click("tbody details summary") }},
		{"who took a reservation out", "127.0.0.1", at("/audit?reservation=7")},
		{"an audit that is asked wrongly", "cannot be read", at("/audit?from=never")},
		{"expired", "", func() {
			b.exec("UPDATE export_jobs SET status = 'expired' WHERE status = 'succeeded'")
			onTheList()
			reads(p, "card", "time is over")
		}},
		{"failed", "", func() {
			b.exec(`UPDATE export_jobs SET status = 'failed', failure = '{"code":"internal","message":"The file could not be made.","at":"2026-01-01T00:00:00Z"}' WHERE status = 'expired'`)
			onTheList()
			reads(p, "card", "The export failed")
		}},
		{"my exports, failed", "The file could not be made.", at("/exports?status=failed")},
		{"in Korean", "예약", at("/reservations?lang=ko")},
		{"a reservation in Korean", "목록으로", at("/reservations/7")},
		{"my exports in Korean", "내보내기", at("/exports")},
		{"the audit in Korean", "감사 기록", at("/audit")},
		{"about", "Sign out", at("/about?lang=en")},
	} {
		t.Run(state.name, func(t *testing.T) {
			state.come()
			if got := p.Text("body"); !strings.Contains(got, state.shows) {
				t.Fatalf("the page reads:\n%s", got)
			}
			for _, dark := range []bool{false, true} {
				p.Dark(dark)
				for _, v := range p.Axe() {
					t.Errorf("dark %t: %s", dark, v)
				}
			}
			p.Dark(false)
			p.Resize(375, 740, true)
			if got := p.Eval("document.documentElement.scrollWidth"); got != "375" {
				t.Errorf("on a phone the page is %s wide: %s", got, p.Eval("[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 375).filter(e => !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 80)).join('\\n')"))
			}
			for _, v := range p.Axe() {
				t.Errorf("on a phone: %s", v)
			}
			p.Resize(1280, 800, false)
		})
	}
}

// The same way by fingers on a narrow screen.
func TestAUserTakesRowsOutOnAPhone(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 200})
	p := browser.New(t, browser.Options{Width: 375, Height: 740, Phone: true})
	b.signIn(p, "manager", "/reservations")
	tap := func(selector string) { p.Tap("document.querySelector(" + strconv.Quote(selector) + ")") }
	leave := func(selector string) {
		p.Eval("window.stays = true")
		tap(selector)
		p.Wait("!window.stays && document.readyState === 'complete'")
	}
	tap("[name=status][value=Canceled]")
	leave(".bar button.main")
	leave("th:nth-child(7) a")
	leave(".pager [rel=next]")
	tap("details.columns summary")
	tap("[name='form.column'][value=guest_phone]")
	leave(".pop button.main")
	p.Tap(ofButton("button"))
	p.Wait(theButton + "?.querySelector('.personal:not([hidden]) input')")
	p.Tap(theButton + ".querySelector('.personal label')")
	p.Tap(ofButton("reason"))
	p.Press("Called by the guest")
	p.Tap(ofButton("start"))
	reads(p, "card", "The file is ready")
	file := p.Download(filepath.Join(t.TempDir(), "downloads"), func() { p.Tap(ofButton("download")) })
	head := ""
	cells := cellsOf(t, file)
	for _, cell := range cells[0] {
		head += *cell + " "
	}
	if want := "s:Reservation s:Status s:Property s:Channel s:Booked on s:Check-in s:Check-out s:Nights s:Guest s:Amount s:Currency "; head != want {
		t.Errorf("the file has %s", head)
	}
	leave("tbody .open a")
	leave("nav a[href='/exports']")
	if got := len(p.Texts("tr[data-job]")); got != 1 {
		t.Errorf("my exports are %d", got)
	}
	for _, fault := range p.Report().Faults() {
		t.Error(fault)
	}
}
