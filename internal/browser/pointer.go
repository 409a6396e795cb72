package browser

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// PressMouse presses the mouse in the middle of what a JavaScript expression gives, once
// that can be pressed, so many times as a person does within one double click.
// Unlike a selector, an expression reaches into shadow roots. What lies over the
// element gets the press, as it does of a person.
func (p *Page) PressMouse(element string, times int) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("((e) => e && !e.disabled && e.getClientRects().length > 0)(%s)", element))
	at := evaluate[[2]float64](p, fmt.Sprintf(`((e) => {
		e.scrollIntoView({block: "nearest", behavior: "instant"})
		const r = e.getBoundingClientRect()
		return [r.x + r.width / 2, r.y + r.height / 2]
	})(%s)`, element))
	var presses []chromedp.Action[chromedp.Void]
	for n := range times {
		presses = append(presses, chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(n+1)))
	}
	p.do("press "+element, presses...)
}
