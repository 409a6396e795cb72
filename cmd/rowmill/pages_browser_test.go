package main

import (
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
			p := b.signIn("admin", o)
			for _, path := range []string{"/reservations", "/reservations?status=Canceled&_sort=check_in&_order=desc", "/reservations/1", "/exports", "/audit"} {
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
	r := p.Report()
	for _, fault := range r.Faults() {
		t.Error(fault)
	}
	if r.Requests > pageRequests || r.Bytes > pageBytes {
		t.Errorf("%d requests and %d bytes, of at most %d and %d", r.Requests, r.Bytes, pageRequests, pageBytes)
	}
	for _, v := range p.Axe() {
		t.Error(v)
	}
	if p.Eval("document.documentElement.scrollWidth <= innerWidth") != "true" {
		t.Error("the page must be scrolled sideways")
	}
}
