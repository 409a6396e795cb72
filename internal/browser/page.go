package browser

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Options are what a user's browser is like.
type Options struct {
	Width, Height int64             // of the window, in CSS pixels. Default 1280 × 800
	Phone         bool              // touch, and a layout that follows the page's viewport
	Dark          bool              // prefers a dark page
	Language      string            // what the user reads, as "ko-KR". Default "en-US"
	Headers       map[string]string // sent with every request, as Authorization
}

// Page is a tab. Its methods fail the test that it was made for; they are for the
// test's own goroutine.
type Page struct {
	t   testing.TB
	ctx context.Context
	*watcher
}

// New gives an empty tab in a profile of its own, closed at the test's end.
func New(t testing.TB, o Options) *Page {
	t.Helper()
	p := &Page{t: t, watcher: newWatcher()}
	p.openTab(shared.use(t), chromedp.WithNewBrowserContext())
	p.be(o)
	return p
}

// Tab gives another tab of the same user: it shares the cookies and the cache.
func (p *Page) Tab(o Options) *Page {
	p.t.Helper()
	tab := &Page{t: p.t, watcher: newWatcher()}
	tab.openTab(p.ctx)
	tab.be(o)
	return tab
}

func (p *Page) openTab(parent context.Context, options ...chromedp.ContextOption) {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	p.t.Cleanup(cancel)
	p.ctx = ctx
	// The first step makes the tab, which lives as long as the context of that step.
	err := chromedp.Do(ctx)
	if err == nil {
		p.frame = cdp.FrameID(chromedp.FromContext(ctx).Target.TargetID) // a tab's own frame is named as the tab
		err = chromedp.Listen(ctx, p.hear)
	}
	if err != nil {
		p.t.Fatalf("open a tab: %v", err)
	}
}

// be makes the tab's user what the options say.
func (p *Page) be(o Options) {
	p.t.Helper()
	p.do("watch the page", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, audits.Enable, cdp.Empty{})
		return err
	}))
	p.Resize(cmp.Or(o.Width, 1280), cmp.Or(o.Height, 800), o.Phone)
	p.Dark(o.Dark)
	p.Language(cmp.Or(o.Language, "en-US"))
	p.SetHeaders(o.Headers)
}

// do runs steps within the deadline.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// Resize gives the window another size; phone adds touch and the mobile layout.
func (p *Page) Resize(width, height int64, phone bool) {
	p.t.Helper()
	var options []chromedp.EmulateViewportOption
	if phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.do("set the viewport", chromedp.EmulateViewport(width, height, options...))
}

// Dark makes the user prefer a dark page, or a light one.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	p.do("set the colours", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}

// Language makes the user read another language: Accept-Language, navigator.languages
// and the formats of dates and numbers.
func (p *Page) Language(tag string) {
	p.t.Helper()
	agent := p.Eval("navigator.userAgent")
	p.do("set the language", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: tag})
		_, locale := cdp.Call(ctx, tab, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: tag})
		return errors.Join(err, locale)
	}))
}

// SetHeaders sends these with every request from now on, and no others set before.
func (p *Page) SetHeaders(headers map[string]string) {
	p.t.Helper()
	set := network.Headers{}
	for name, value := range headers {
		set[name] = value
	}
	p.do("set the headers", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: set})
		return err
	}))
}

// Open goes to the address and waits until the page has loaded. The report begins
// anew; requests to other hosts than the address's are third parties'.
func (p *Page) Open(address string) {
	p.t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.begin(at.Host)
	p.do("open "+address, chromedp.Navigate(address))
}

// ForgetCache makes the next page load as for a user who was never here; cookies stay.
func (p *Page) ForgetCache() {
	p.t.Helper()
	p.do("empty the cache", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.ClearBrowserCache, cdp.Empty{})
		return err
	}))
}

// Reload loads the page again, as F5 does. The report goes on.
func (p *Page) Reload() {
	p.t.Helper()
	p.do("reload", chromedp.Reload())
}

// Report waits until no request is on its way, event streams apart, and gives what
// the page did since it was opened. What it will do later it cannot know: wait for
// that first.
func (p *Page) Report() Report {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	for {
		// A round trip: whatever the browser said before its answer has been heard.
		p.Eval("0")
		report, loading, changed := p.quiet()
		if len(loading) == 0 {
			return report
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.t.Fatalf("still on their way: %q", loading)
		}
	}
}
