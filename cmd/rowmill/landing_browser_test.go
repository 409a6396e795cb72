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

func withinBudget(t *testing.T, r browser.Report) {
	t.Helper()
	for _, fault := range r.Faults() {
		t.Error(fault)
	}
	if r.Requests > pageRequests || r.Bytes > pageBytes {
		t.Errorf("%d requests and %d bytes, of at most %d and %d", r.Requests, r.Bytes, pageRequests, pageBytes)
	}
}

func TestTheLandingPageIsSmallAndOpenToEverybody(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{idle: true})
	for name, o := range map[string]browser.Options{
		"a desktop": {}, "in the dark": {Dark: true}, "a phone": {Width: 360, Height: 740, Phone: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := browser.New(t, o) // nobody: without the token
			p.Open(b.url + "/about")
			if got := p.Text("h1"); got != "Rowmill" {
				t.Errorf("the page is headed %q", got)
			}
			withinBudget(t, p.Report())
			for _, v := range p.Axe() {
				t.Error(v)
			}
			if p.Eval("document.documentElement.scrollWidth <= innerWidth") != "true" {
				t.Error("the page must be scrolled sideways")
			}
		})
	}
}

func TestTheRootLeadsToTheListAndAStrangerToTheSignIn(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 1, idle: true})
	stranger, user := browser.New(t, browser.Options{}), b.user(browser.Options{})
	stranger.Open(b.url + "/")
	at, err := url.Parse(stranger.Eval("location.href"))
	if err != nil || at.Path != "/auth/development" || at.Query().Get("return_to") != "/reservations" {
		t.Errorf("a stranger is at %s, %v", at, err)
	}
	user.Open(b.url + "/")
	if got := user.Eval("location.pathname"); got != "/reservations" {
		t.Errorf("a user is at %s", got)
	}
}
