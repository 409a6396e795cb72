package browser

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Report is what a page did since it was opened.
type Report struct {
	Console    []string // what its scripts logged as errors or did not catch
	Policy     []string // violations of its content security policy
	Failed     []string // requests that failed or were answered with 400 or more; not those that it gave up itself
	ThirdParty []string // addresses on other hosts that it asked
	Requests   int      // sent over the network, redirects counted
	Bytes      int64    // received over the network, headers and all, as compressed
}

// Faults gives everything that a page without fault has none of.
func (r Report) Faults() (faults []string) {
	for _, kind := range []struct {
		name  string
		lines []string
	}{{"console", r.Console}, {"policy", r.Policy}, {"failed", r.Failed}, {"third party", r.ThirdParty}} {
		for _, line := range kind.lines {
			faults = append(faults, kind.name+": "+line)
		}
	}
	return faults
}

// watcher hears what the browser says of a page.
type watcher struct {
	mu      sync.Mutex
	frame   cdp.FrameID // the tab's own
	host    string
	report  Report
	waits   bool         // for the page that is opened: what is heard is of the one before
	loader  cdp.LoaderID // of the page that is there
	loading map[network.RequestID]request
	changed chan struct{} // closed and made anew when loading shrinks
}

// request is one on its way.
type request struct {
	what   string // method and address
	loader cdp.LoaderID
	frame  cdp.FrameID
}

func newWatcher() *watcher {
	return &watcher{loading: map[network.RequestID]request{}, changed: make(chan struct{})}
}

// begin forgets the page before; requests of host are the page's own.
func (w *watcher) begin(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.host, w.report, w.waits = host, Report{}, true
	clear(w.loading)
}

// quiet gives the report if nothing is on its way, and else what to wait for.
func (w *watcher) quiet() (r Report, loading []string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.loading {
		loading = append(loading, r.what)
	}
	r = w.report
	for _, list := range []*[]string{&r.Console, &r.Policy, &r.Failed, &r.ThirdParty} {
		*list = slices.Clone(*list)
	}
	return r, loading, w.changed
}

// hear takes an event in. It runs where the browser's messages are read, and so
// must be quick.
func (w *watcher) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.sent(e)
		return
	case *page.EventFrameNavigated:
		w.arrived(e.Frame)
		return
	case *page.EventNavigatedWithinDocument: // to a place in the page that is there
		w.waits = w.waits && e.FrameID != w.frame
		return
	}
	if w.waits {
		return
	}
	w.hearLoading(event)
	w.hearFault(event)
}

func (w *watcher) sent(e *network.EventRequestWillBeSent) {
	at, err := url.Parse(e.Request.URL)
	if err != nil || !slices.Contains([]string{"http", "https", "ws", "wss"}, at.Scheme) {
		return // data: and blob: load nothing
	}
	leads := e.FrameID == w.frame && string(e.RequestID) == string(e.LoaderID) // to another page in this tab
	if w.waits && !leads || !leads && e.FrameID == w.frame && e.LoaderID != "" && e.LoaderID != w.loader {
		return // the icon of a page that was left, say: nobody tells how that ends
	}
	if w.waits {
		w.waits, w.loader = false, e.LoaderID
	}
	w.report.Requests++
	if e.RedirectResponse != nil {
		w.report.Bytes += int64(e.RedirectResponse.EncodedDataLength)
	}
	if at.Host != w.host {
		w.report.ThirdParty = append(w.report.ThirdParty, e.Request.URL)
	}
	w.loading[e.RequestID] = request{e.Request.Method + " " + e.Request.URL, e.LoaderID, e.FrameID}
}

// arrived drops what the page that was left still had on its way.
func (w *watcher) arrived(f *cdp.Frame) {
	if f.ID != w.frame {
		return
	}
	w.waits, w.loader = false, f.LoaderID
	for id, r := range w.loading {
		if r.frame == w.frame && r.loader != f.LoaderID {
			w.done(id)
		}
	}
}

func (w *watcher) hearLoading(event any) {
	switch e := event.(type) {
	case *network.EventRequestServedFromCache:
		if _, ours := w.loading[e.RequestID]; ours {
			w.report.Requests--
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			w.fail(e.RequestID, strconv.FormatInt(e.Response.Status, 10))
		}
		if e.Response.MimeType == "text/event-stream" { // it ends when its page does
			w.done(e.RequestID)
		}
	case *network.EventLoadingFinished:
		if _, ours := w.loading[e.RequestID]; ours {
			w.report.Bytes += int64(e.EncodedDataLength)
		}
		w.done(e.RequestID)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			w.fail(e.RequestID, e.ErrorText)
		}
		w.done(e.RequestID)
	}
}

func (w *watcher) hearFault(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.report.Console = append(w.report.Console, exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			w.report.Console = append(w.report.Console, logged(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork { // which Failed tells better
			w.report.Console = append(w.report.Console, strings.TrimSpace(e.Entry.Text+" "+e.Entry.URL))
		}
	case *audits.EventIssueAdded:
		if p := e.Issue.Details.ContentSecurityPolicyIssueDetails; p != nil {
			w.report.Policy = append(w.report.Policy, strings.TrimSpace(p.ViolatedDirective+" "+p.ContentSecurityPolicyViolationType.String()+" "+p.BlockedURL))
		}
	}
}

// fail notes a request of this page.
func (w *watcher) fail(id network.RequestID, why string) {
	if r, ours := w.loading[id]; ours {
		w.report.Failed = append(w.report.Failed, r.what+": "+why)
	}
}

func (w *watcher) done(id network.RequestID) {
	delete(w.loading, id)
	close(w.changed)
	w.changed = make(chan struct{})
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

// logged puts the arguments of a console call together: texts as they are, other
// values as the browser describes them.
func logged(args []*runtime.RemoteObject) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.Description
		if a.Description == "" {
			parts[i] = strings.Trim(string(a.Value), `"`)
		}
	}
	return strings.Join(parts, " ")
}
