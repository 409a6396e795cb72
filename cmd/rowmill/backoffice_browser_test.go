package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/browser"
	"rowmill/internal/config"
)

// goBy clicks a link and waits for the page that it leads to.
func goBy(p *browser.Page, selector string) {
	p.Eval("window.stays = true")
	p.Click(selector)
	p.Wait("!window.stays && document.readyState === 'complete'")
}

// The export-button's insides are in its shadow, where CSS selectors do not reach.
const theButton = "document.querySelector('export-button').shadowRoot"

func ofButton(name string) string {
	return fmt.Sprintf("%s?.querySelector('[part~=%s]')", theButton, name)
}

// press clicks a part of the export-button, once nothing covers it and it may be
// pressed: where a finger or a mouse would meet it.
func press(p *browser.Page, name string) { pressElement(p, ofButton(name)) }

func pressElement(p *browser.Page, element string) {
	p.Wait(fmt.Sprintf(`(e => {
		if (!e || e.disabled) return false
		e.scrollIntoView({block: "nearest", behavior: "instant"})
		const r = e.getBoundingClientRect()
		const met = e.getRootNode().elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
		return e === met || e.contains(met) || Boolean(e.closest("label")?.contains(met))
	})(%s)`, element))
	p.Eval(element + ".click()")
}

// reads waits until a part of the export-button reads so, among other things.
func reads(p *browser.Page, name, text string) {
	p.Wait(fmt.Sprintf("(e => e && e.checkVisibility() && e.innerText.includes(%q))(%s)", text, ofButton(name)))
}

// inTheClear asks in the open panel for personal data, with the reason.
func inTheClear(p *browser.Page, reason string) {
	pressElement(p, theButton+"?.querySelector('.personal:not([hidden]) input')")
	p.Wait(ofButton("reason") + ".checkVisibility()")
	p.Eval(ofButton("reason") + ".focus()")
	p.Press(reason)
}

// step lets the page pass that waits at the held gate, and so many after it.
func (g *gate) step(pages int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
	g.opened, g.passed = make(chan struct{}), pages
}

// cellsOf reads a workbook's first sheet with another program, each cell with its kind.
func cellsOf(t *testing.T, path string) [][]*string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/cells.py", path).Output()
	if err != nil {
		t.Fatalf("openpyxl: %v", err)
	}
	var sheets map[string][][]*string
	if err := json.Unmarshal(out, &sheets); err != nil {
		t.Fatal(err)
	}
	if sheets["Reservations"] == nil {
		t.Fatalf("the sheets are %v", sheets)
	}
	return sheets["Reservations"]
}

// The main way through the product, as its user goes it: from the sign-in to a file
// that holds what the list shows, row for row.
func TestAUserTakesTheRowsOnTheScreenOutIntoAFile(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 900, idle: true, change: func(cfg *config.Config) { cfg.PageSize = 50 }})
	p := browser.New(t, browser.Options{})
	b.signIn(p, "manager", "/reservations")

	p.Click("[name=status][value=Check-Out]")
	p.Click("[name=status][value=Canceled]")
	p.Eval("document.querySelector('[name=check_in_gte]').value = '2023-01-01'") // a date picker's keys hang on its language
	p.Eval("document.querySelector('[name=check_in_lte]').value = '2023-12-31'")
	goBy(p, ".bar button.main")
	goBy(p, "th:nth-child(7) a") // check-in
	goBy(p, "th[aria-sort=ascending] a")
	goBy(p, ".pager [rel=next]")
	p.Click("details.columns summary")
	p.Click("[name='form.column'][value=channel]")
	p.Click("[name='form.column'][value=guest_email]")
	goBy(p, ".pop button.main")
	query, err := url.ParseQuery(strings.TrimPrefix(p.Eval("location.search"), "?"))
	if err != nil {
		t.Fatal(err)
	}
	columns := "code,status,property,booked_on,check_in,check_out,nights,guest_name,guest_phone,amount,currency,guest_email"
	want := url.Values{
		"status": {"Check-Out", "Canceled"}, "check_in_gte": {"2023-01-01"}, "check_in_lte": {"2023-12-31"},
		"_sort": {"check_in"}, "_order": {"desc"}, "_fields": {columns},
	}
	if diff := cmp.Diff(want, query); diff != "" {
		t.Fatalf("the list's address (-want +got):\n%s", diff)
	}

	list := b.wholeList(query)
	if len(list) < 200 {
		t.Fatalf("%d rows are too few for this test", len(list))
	}
	press(p, "button")
	reads(p, "estimate", strconv.Itoa(len(list)))
	inTheClear(p, "Month-end reconciliation")
	b.gate.hold(1)
	press(p, "start")
	reads(p, "card", "Next to run")
	b.startWorker()
	reads(p, "card", fmt.Sprintf("50 of %d rows", len(list)))
	before := p.Eval(ofButton("progress") + ".getAttribute('aria-valuenow')")
	b.gate.step(1)
	reads(p, "card", fmt.Sprintf("150 of %d rows", len(list)))
	if after := p.Eval(ofButton("progress") + ".getAttribute('aria-valuenow')"); before == after {
		t.Errorf("the bar stands at %s", after)
	}
	b.gate.release()
	reads(p, "card", fmt.Sprintf("%d rows", len(list)))
	file := p.Download(filepath.Join(t.TempDir(), "downloads"), func() { press(p, "download") })

	if filepath.Ext(file) != ".xlsx" {
		t.Errorf("the file is named %s", file)
	}
	if diff := cmp.Diff(list, plain(t, cellsOf(t, file))); diff != "" {
		t.Errorf("the file's rows (-list +file):\n%s", diff)
	}
	for _, fault := range p.Report().Faults() {
		t.Error(fault)
	}
}

// wholeList reads every page of the list that the address shows, in the clear, as texts.
func (b *browserApp) wholeList(query url.Values) (rows [][]string) {
	b.t.Helper()
	query.Set("personal", "true")
	fields := strings.Split(query.Get("_fields"), ",")
	for page := 1; ; page++ {
		query.Set("_page", strconv.Itoa(page))
		query.Set("_limit", "100")
		got := call(b.t, b.front.app, http.MethodGet, "/api/v1/reservations?"+query.Encode(), "")
		d := json.NewDecoder(strings.NewReader(string(got.body)))
		d.UseNumber()
		var items []map[string]any
		if err := d.Decode(&items); err != nil || got.status != http.StatusOK {
			b.t.Fatalf("the list: %d %s, %v", got.status, got.body, err)
		}
		if len(items) == 0 {
			return rows
		}
		for _, item := range items {
			row := make([]string, len(fields))
			for i, field := range fields {
				if v := item[field]; v != nil {
					row[i] = fmt.Sprint(v)
				}
			}
			rows = append(rows, row)
		}
	}
}

// plain gives the rows under the head as the list has them: without their kinds,
// dates as days, and amounts with their two decimals.
func plain(t *testing.T, cells [][]*string) (rows [][]string) {
	t.Helper()
	head := cells[0]
	for _, row := range cells[1:] {
		texts := make([]string, len(row))
		for i, cell := range row {
			if cell == nil {
				continue
			}
			_, texts[i], _ = strings.Cut(*cell, ":")
			texts[i] = strings.TrimSuffix(texts[i], " 00:00:00")
			if *head[i] == "s:Amount" {
				amount, err := strconv.ParseFloat(texts[i], 64)
				if err != nil {
					t.Fatal(err)
				}
				texts[i] = strconv.FormatFloat(amount, 'f', 2, 64)
			}
		}
		rows = append(rows, texts)
	}
	return rows
}

func TestTheFirstVisitOfTheListIsSmall(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 300, idle: true})
	p := browser.New(t, browser.Options{})
	b.signIn(p, "admin", "/api/v1/me") // which loads nothing of the pages
	p.Open(b.url + "/reservations")
	p.Wait(ofButton("button"))
	withinBudget(t, p.Report())
	if got := len(p.Texts("tbody tr")); got != 20 {
		t.Errorf("the list has %d rows", got)
	}
}
