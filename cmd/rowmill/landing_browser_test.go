package main

import (
	"testing"

	"rowmill/internal/browser"
)

// What the landing page may cost a browser that has never seen it.
const (
	landingBytes    = 60_000
	landingRequests = 6
)

func TestTheLandingPageIsSmallAndOpenToEverybody(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{idle: true})
	for name, o := range map[string]browser.Options{
		"a desktop": {}, "in the dark": {Dark: true}, "a phone": {Width: 360, Height: 740, Phone: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := browser.New(t, o) // nobody: without the token
			p.Open(b.url + "/")
			if got := p.Text("h1"); got != "Rowmill" {
				t.Errorf("the page is headed %q", got)
			}
			r := p.Report()
			for _, fault := range r.Faults() {
				t.Error(fault)
			}
			if r.Requests > landingRequests || r.Bytes > landingBytes {
				t.Errorf("%d requests and %d bytes, of at most %d and %d", r.Requests, r.Bytes, landingRequests, landingBytes)
			}
			for _, v := range p.Axe() {
				t.Error(v)
			}
			if p.Eval("document.documentElement.scrollWidth <= innerWidth") != "true" {
				t.Error("the page must be scrolled sideways")
			}
		})
	}
}
