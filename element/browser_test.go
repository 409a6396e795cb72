package element_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

// tabs opens a tab in the one Chromium of all tests, in a profile of its own.
var tabs func(*testing.T) context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	program, err := chromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	chrome, stop := launch(program)
	tabs = func(t *testing.T) context.Context {
		t.Helper()
		ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
		t.Cleanup(cancel)
		return ctx
	}
	status := 1
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
	} else {
		status = m.Run()
	}
	if err := chromedp.Cancel(chrome); err != nil {
		fmt.Fprintln(os.Stderr, "stop Chromium:", err)
		status = 1
	}
	stop()
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

// launch prepares a Chromium, which starts with its first use.
func launch(program string) (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.WindowSize(1000, 760), chromedp.Flag("lang", "en-US"), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	return ctx, func() {
		cancel()
		stop()
	}
}

func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("these tests drive a browser: install the package chromium")
}

// tab is a page of the stub in a browser profile of its own.
type tab struct {
	*testing.T
	*stub

	ctx context.Context
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// open shows a page with this inside its body.
func open(t *testing.T, s *stub, body string) *tab {
	t.Helper()
	ctx := tabs(t)
	s.mu.Lock()
	s.pages["/list"] = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>List</title>` +
		`<script src="/page.js"></script><script type="module" src="/assets/export-button.js"></script><body>` + body + `</body></html>`
	s.mu.Unlock()
	b := &tab{T: t, stub: s, ctx: ctx}
	b.run(chromedp.Navigate(s.URL + "/list"))
	t.Cleanup(func() {
		wrong, err := chromedp.Run(ctx, chromedp.Evaluate[[]string]("window.violations"))
		if err != nil || len(wrong) > 0 {
			t.Errorf("the page saw %q, %v; want nothing wrong", wrong, err)
		}
	})
	return b
}

const button = `<export-button filter='{"status":["Canceled"]}' sort="check_in" order="desc" columns="guest_name,code,check_in"></export-button>`

func (b *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval gives what a script comes to.
func (b *tab) eval(script string) any {
	b.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](script))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return got
}

// wait waits until the script comes to something true.
func (b *tab) wait(script string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	// The page's policy allows no eval, which chromedp.Poll would need.
	poll := `new Promise((ok) => { const look = () => { let is = false; try { is = ` + script + `; } catch {} is ? ok(true) : setTimeout(look, 20); }; look(); })`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](poll, chromedp.EvalAwaitPromise)); err != nil {
		shows, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('export-button')?.shadowRoot.textContent`))
		b.Fatalf("wait for %s: %v\nthe element holds %q\ncalls %v", script, err, shows, b.asked("", ""))
	}
}

// press clicks with the mouse, at the middle of what the selector finds in the element.
func (b *tab) press(selector string) {
	b.Helper()
	b.pressTimes(selector, 1)
}

// pressTwice clicks as fast as the browser takes it.
func (b *tab) pressTwice(selector string) {
	b.Helper()
	b.pressTimes(selector, 2)
}

func (b *tab) pressTimes(selector string, times int) {
	b.Helper()
	b.wait(fmt.Sprintf(`shown(%q) && !$(%[1]q).disabled`, selector))
	at := b.eval(fmt.Sprintf(`(() => { const e = $(%q); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, selector)).([]any)
	click := chromedp.MouseClickXY(at[0].(float64), at[1].(float64))
	b.run(slices.Repeat([]chromedp.Action[chromedp.Void]{click}, times)...)
}

// shows waits until what the selector finds has this text in it.
func (b *tab) shows(selector, text string) {
	b.Helper()
	b.wait(fmt.Sprintf("text(%q).includes(%q)", selector, text))
}

// start goes from the idle button to a queued job.
func (b *tab) start() {
	b.Helper()
	b.press("[part=button]")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
}

func joined(v any) string {
	var parts []string
	for _, e := range v.([]any) {
		parts = append(parts, fmt.Sprint(e))
	}
	return strings.Join(parts, ", ")
}

// waitFor waits until something has happened outside of the page.
func (b *tab) waitFor(happened func() bool) {
	b.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-deadline:
			b.Fatalf("it did not happen; calls %v", b.asked("", ""))
		case <-tick.C:
		}
	}
}
