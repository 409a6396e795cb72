package main

import (
	"fmt"
	"testing"

	"rowmill/internal/browser"
)

// The board in the browser: whoever may read it sees it first, in either language, for
// any day, and can read it with a screen reader.
func TestTheBoardInTheBrowser(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 60, idle: true})
	p := browser.New(t, browser.Options{})
	accessible := func(state string) {
		t.Helper()
		for _, v := range p.Axe() {
			t.Errorf("%s: %v", state, v)
		}
	}
	b.signIn(p, "viewer", "/home")
	if got := p.Text("nav a[aria-current=page]"); got != "Home" {
		t.Errorf("the menu is at %q", got)
	}
	want := readBoard(t, b.front.app)
	if got := p.Eval("document.querySelectorAll('section.card').length"); got != fmt.Sprint(len(want.Sections)) {
		t.Errorf("%s sections, want %d", got, len(want.Sections))
	}
	for i, title := range p.Texts("section.card h2") {
		if title != want.Sections[i].Title {
			t.Errorf("section %d is %q, want %q", i, title, want.Sections[i].Title)
		}
	}
	accessible("the board")

	p.Eval("document.querySelector('#date').value = '2020-01-01'") // before the board's first day: nothing is free
	p.Click("form.filter button")
	p.Wait("location.search === '?date=2020-01-01' && document.readyState === 'complete'")
	if got := p.Eval("[...document.querySelectorAll('.board .number')].every((n) => n.innerText === '0 free')"); got != "true" {
		t.Errorf("something is free long ago: %v", p.Texts(".board .number"))
	}
	p.Open(b.url + "/home?lang=ko")
	if got := p.Text("h1"); got != "홈" {
		t.Errorf("in Korean it is called %q", got)
	}
	accessible("in Korean")
	p.Open(b.url + "/home?date=soon&lang=en")
	p.See(".problem")
	accessible("a date that is none")

	b.exec("UPDATE home_sections SET visible_until = '2020-01-01 00:00:00.000000'")
	b.stopGateway() // what is changed in the database itself is seen when copies end
	b.startGateway()
	b.signIn(p, "viewer", "/home")
	if got := p.Text(".empty h2"); got != "No section is visible now" {
		t.Errorf("an empty board says %q", got)
	}
	accessible("an empty board")
}
