package browser

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

// Selectors are CSS; the first element that matches is meant. Each action waits
// until its element is there and can be seen.

// Click presses the mouse in the middle of the element.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// DoubleClick presses the mouse twice, as people do on buttons that need one press:
// at the same place, whatever the first press has made of the element.
func (p *Page) DoubleClick(selector string) {
	p.t.Helper()
	p.See(selector)
	at := evaluate[[2]float64](p, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q)
		e.scrollIntoView({block: "center", behavior: "instant"})
		const r = e.getBoundingClientRect()
		return [r.x + r.width / 2, r.y + r.height / 2]
	})()`, selector))
	p.do("double-click "+selector, chromedp.MouseClickXY(at[0], at[1]), chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)))
}

// Type puts the text in place of what the field holds, key by key.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.do("type into "+selector, chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Clear(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press sends keys to whatever has the focus; chromedp/kb names those without a letter.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do("press keys", chromedp.KeyEvent(keys))
}

// Choose takes the option with the value in a select, and tells the page so.
func (p *Page) Choose(selector, value string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("[...document.querySelector(%q)?.options ?? []].some(o => o.value === %q)", selector, value))
	p.Eval(fmt.Sprintf(`(() => {
		const select = document.querySelector(%q)
		select.value = %q
		for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, {bubbles: true}))
		return ""
	})()`, selector, value))
}

// Text gives what a person reads in the element.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	p.See(selector)
	return p.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// Texts gives what a person reads in each element that matches; none is no fault.
func (p *Page) Texts(selector string) []string {
	p.t.Helper()
	return evaluate[[]string](p, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText)", selector))
}

// See waits until the element is there and can be seen.
func (p *Page) See(selector string) {
	p.t.Helper()
	p.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Eval gives the value of a JavaScript expression as a text, its promise awaited.
// The page's content security policy does not hold for it.
func (p *Page) Eval(expression string) string {
	p.t.Helper()
	return evaluate[string](p, "Promise.resolve("+expression+").then(String)")
}

func evaluate[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// tryEvery is the pace at which a page is looked at: about that of its frames.
const tryEvery = 20 * time.Millisecond

// Wait waits until the JavaScript condition holds. It may be asked while the page
// is being left for another.
func (p *Page) Wait(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if holds {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			p.t.Fatalf("this never holds: %s (last: %v); the page reads:\n%s", condition, err, evaluate[string](p, "location.href + '\\n' + document.body?.innerText"))
		}
	}
}

// Screenshot writes a picture of the whole page, in PNG, for a person to look at.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(path, picture, 0o600)
	}
	if err != nil {
		p.t.Fatalf("take a picture: %v", err)
	}
}
