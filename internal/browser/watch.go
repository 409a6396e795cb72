package browser

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
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
	host    string
	report  Report
	loading map[network.RequestID]request // what is on its way
	changed chan struct{}                 // closed and made anew when loading shrinks
}

// request is one that is on its way.
type request struct {
	what   string // method and address
	loader string // names the page that sent it
}

func newWatcher() *watcher {
	return &watcher{loading: map[network.RequestID]request{}, changed: make(chan struct{})}
}

// begin forgets the page before; requests of host are the page's own.
func (w *watcher) begin(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.host, w.report = host, Report{}
	clear(w.loading)
}

// quiet gives the report if nothing is on its way, and else what to wait for.
func (w *watcher) quiet() (r Report, loading []string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range w.loading {
		loading = append(loading, what.what)
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
	case *network.EventRequestServedFromCache:
		w.report.Requests--
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			w.fail(e.RequestID, fmt.Sprintf("%d %s", e.Response.Status, e.Response.URL))
		}
		if e.Response.MimeType == "text/event-stream" { // it ends when its page does
			w.done(e.RequestID)
		}
	case *network.EventLoadingFinished:
		w.report.Bytes += int64(e.EncodedDataLength)
		w.done(e.RequestID)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			w.fail(e.RequestID, e.ErrorText)
		}
		w.done(e.RequestID)
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" { // how the requests of the page before ended, nobody tells
			for id, sent := range w.loading {
				if sent.loader != string(e.Frame.LoaderID) {
					w.done(id)
				}
			}
		}
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

func (w *watcher) sent(e *network.EventRequestWillBeSent) {
	at, err := url.Parse(e.Request.URL)
	if err != nil || !slices.Contains([]string{"http", "https", "ws", "wss"}, at.Scheme) {
		return // data: and blob: load nothing
	}
	w.report.Requests++
	if e.RedirectResponse != nil {
		w.report.Bytes += int64(e.RedirectResponse.EncodedDataLength)
	}
	if at.Host != w.host {
		w.report.ThirdParty = append(w.report.ThirdParty, e.Request.URL)
	}
	w.loading[e.RequestID] = request{what: e.Request.Method + " " + e.Request.URL, loader: string(e.LoaderID)}
}

func (w *watcher) fail(id network.RequestID, why string) {
	what := "a request"
	if known, ok := w.loading[id]; ok {
		what = known.what
	}
	w.report.Failed = append(w.report.Failed, what+": "+why)
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
