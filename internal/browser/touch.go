package browser

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Tap touches the middle of the element that a JavaScript expression gives, which
// may lie in a shadow, once it can be met there and is not disabled. For a phone.
func (p *Page) Tap(element string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`(e => {
		if (!e || e.disabled) return false
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
		const r = e.getBoundingClientRect()
		const met = e.getRootNode().elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
		return e === met || e.contains(met)
	})(%s)`, element))
	at := evaluate[[2]float64](p, fmt.Sprintf(`(e => {
		const r = e.getBoundingClientRect()
		return [r.x + r.width / 2, r.y + r.height / 2]
	})(%s)`, element))
	p.do("tap "+element, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, down := cdp.Call(ctx, tab, input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}},
		})
		_, up := cdp.Call(ctx, tab, input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{},
		})
		return errors.Join(down, up)
	}))
}

// Picture writes a picture of what the window shows, in PNG.
func (p *Page) Picture(path string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, picture, 0o600)
	}
	if err != nil {
		p.t.Fatalf("take a picture: %v", err)
	}
}
