package main

import (
	"net/url"
	"testing"

	"rowmill/internal/browser"
)

// What a page may cost a browser that has never seen it.
const (
	pageBytes    = 60_000
	pageRequests = 6
)

var visitors = map[string]browser.Options{
	"at a desk":             {},
	"in Korean":             {Language: "ko-KR"},
	"in the dark, by phone": {Width: 360, Height: 740, Phone: true, Dark: true},
}

func TestPagesForEverybodyAreSmallAndOpenToEverybody(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{idle: true})
	for name, o := range visitors {
		for _, path := range []string{"/", "/about"} {
			t.Run(path+" "+name, func(t *testing.T) { isSound(t, browser.New(t, o), b.url+path) })
		}
	}
}

func TestPagesOfTheBackofficeAreSmallAndOpenToEverybody(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 200, idle: true})
	for name, o := range visitors {
		t.Run(name, func(t *testing.T) {
			p := browser.New(t, o)
			b.signIn(p, "admin", "/reservations")
			for _, path := range []string{"/home", "/reservations", "/reservations?status=Canceled&_sort=check_in&_order=desc", "/reservations/1", "/exports", "/audit"} {
				t.Run(path, func(t *testing.T) { isSound(t, p, b.url+path) })
			}
		})
	}
}

// isSound opens the page as for the first time and looks for whatever is wrong.
func isSound(t *testing.T, p *browser.Page, url string) {
	t.Helper()
	p.ForgetCache()
	p.Open(url)
	p.See("h1")
	withinBudget(t, p.Report())
	for _, v := range p.Axe() {
		t.Error(v)
	}
	if p.Eval("document.documentElement.scrollWidth <= innerWidth") != "true" {
		t.Error("the page must be scrolled sideways")
	}
}

func withinBudget(t *testing.T, r browser.Report) {
	t.Helper()
	for _, fault := range r.Faults() {
		t.Error(fault)
	}
	if r.Requests > pageRequests || r.Bytes > pageBytes {
		t.Errorf("%d requests and %d bytes, of at most %d and %d", r.Requests, r.Bytes, pageRequests, pageBytes)
	}
}

func TestTheRootLeadsToTheBoardAndAStrangerToTheSignIn(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 1, idle: true})
	stranger, user := browser.New(t, browser.Options{}), b.user(browser.Options{})
	stranger.Open(b.url + "/")
	at, err := url.Parse(stranger.Eval("location.href"))
	if err != nil || at.Path != "/auth/development" || at.Query().Get("return_to") != "/home" {
		t.Errorf("a stranger is at %s, %v", at, err)
	}
	user.Open(b.url + "/")
	if got := user.Eval("location.pathname"); got != "/home" {
		t.Errorf("a user is at %s", got)
	}
}
