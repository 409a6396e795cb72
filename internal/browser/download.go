package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Download does what makes the page download a file, waits for the whole of it in
// the directory, and gives its path there. The file has the name that the browser
// proposes to its user.
func (p *Page) Download(dir string, cause func()) (path string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	begun, ended := make(chan browser.EventDownloadWillBegin, 1), make(chan browser.EventDownloadProgress, 1)
	p.hearDownload(ctx, dir, begun, ended)
	cause()
	var file browser.EventDownloadWillBegin
	var end browser.EventDownloadProgress
	select {
	case file = <-begun:
	case <-ctx.Done():
		p.t.Fatal("no download began")
	}
	select {
	case end = <-ended:
	case <-ctx.Done():
		p.t.Fatalf("the download of %s did not end", file.URL)
	}
	if end.State != browser.DownloadProgressStateCompleted {
		p.t.Fatalf("the download of %s is %s after %.0f bytes", file.URL, end.State, end.ReceivedBytes)
	}
	path = filepath.Join(dir, filepath.Base(file.SuggestedFilename))
	if err := os.Rename(filepath.Join(dir, end.GUID), path); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// hearDownload lets this user's tabs download into dir, and hands on how the next
// download of this page begins and ends.
func (p *Page) hearDownload(ctx context.Context, dir string, begun chan<- browser.EventDownloadWillBegin, ended chan<- browser.EventDownloadProgress) {
	p.t.Helper()
	c := chromedp.FromContext(ctx)
	on, guid := true, "" // guid: of the download that this page began
	err := chromedp.ListenBrowser(ctx, func(event any) {
		switch e := event.(type) {
		case *browser.EventDownloadWillBegin:
			if guid == "" && e.FrameID == p.frame {
				guid = e.GUID
				begun <- *e
			}
		case *browser.EventDownloadProgress:
			if guid != "" && e.GUID == guid && e.State != browser.DownloadProgressStateInProgress {
				guid = "ended"
				ended <- *e
			}
		}
	})
	if err == nil {
		_, err = cdp.Call(ctx, c.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: c.BrowserContextID, DownloadPath: dir, EventsEnabled: &on,
		})
	}
	if err = errors.Join(err, os.MkdirAll(dir, 0o700)); err != nil {
		p.t.Fatalf("allow downloads: %v", err)
	}
}
