package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rowmill/internal/browser"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

var picturesDir = flag.String("pictures", "", "where the pictures of the documentation are written; empty: a temporary directory")

// pictureBytes is what a picture of a page may weigh in the repository.
const pictureBytes = 200_000

// What the documentation shows comes from the product itself, with the public
// sample: make pictures writes docs/screenshots.
func TestThePicturesOfTheDocumentation(t *testing.T) {
	dir := cmp.Or(*picturesDir, t.TempDir())
	shown := struct {
		sample    bool
		rows      int
		year      string
		page      int
		six, more string // pages' rows
	}{rows: 3000, year: "2024", page: 20, six: "120", more: "60"} // made up: the sample is too much for every run of the tests
	if *picturesDir != "" {
		shown.sample, shown.year, shown.page, shown.six, shown.more = true, "2016", 2000, "12,000", "6,000"
	}
	b := bootBrowserApp(t, browserOptions{sample: shown.sample, rows: shown.rows, idle: true, change: func(cfg *config.Config) { cfg.PageSize = shown.page }})
	p := browser.New(t, browser.Options{})
	take := func(name string) {
		p.Report() // nothing is on its way
		p.Eval("document.fonts.ready")
		p.Wait("document.getAnimations().length === 0 && (document.querySelector('export-button')?.shadowRoot.getAnimations() ?? []).length === 0")
		path := filepath.Join(dir, name+".png")
		p.Picture(path)
		if at, err := os.Stat(path); err != nil || at.Size() == 0 || at.Size() > pictureBytes {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
	list := "/reservations?_order=desc&_sort=check_in&check_in_gte=" + shown.year + "-01-01&check_in_lte=" + shown.year + "-12-31&status=Canceled"
	b.signIn(p, "admin", list)
	p.Wait(ofButton("button"))
	take("list")
	p.Dark(true)
	take("dark")
	p.Dark(false)

	b.startWorker()
	job, err := b.api.Submit(t.Context(), exportclient.Order{Format: "csv", Filter: map[string][]string{"code": {"none"}}}, "warm-up")
	if err != nil {
		t.Fatal(err)
	}
	awaitJob(t, b.api, job.ID, ended) // so the worker is known to run
	b.gate.hold(6)
	press(p, "button")
	p.Wait(ofButton("estimate") + "?.getAttribute('aria-busy') === 'false'")
	inTheClear(p, "Month-end reconciliation with the hotels")
	p.Wait(fmt.Sprintf("!%s.disabled", ofButton("start")))
	take("export-panel")
	press(p, "start")
	reads(p, "card", shown.six+" of ")
	take("progress")
	b.gate.release()
	reads(p, "card", "The file is ready")
	take("done")
	p.Download(filepath.Join(t.TempDir(), "downloads"), func() { press(p, "download") })

	p.Resize(375, 740, true)
	take("phone")
	p.Resize(1280, 800, false)
	b.gate.hold(3)
	goBy(p, "nav a[href='/reservations']")
	press(p, "close")
	press(p, "button")
	p.Wait(ofButton("estimate") + "?.getAttribute('aria-busy') === 'false'")
	press(p, "start")
	reads(p, "card", shown.more+" of ")
	goBy(p, "nav a[href='/exports']")
	p.Wait("document.querySelector('.rows').innerText.startsWith('" + shown.more + "')")
	take("my-exports")
	goBy(p, "nav a[href='/audit']")
	take("audit")
	goBy(p, "nav a[href='/reservations']")
	goBy(p, "tbody .open a")
	take("detail")
	goBy(p, "nav a[href='/home']")
	take("home")
	b.gate.release()
}
