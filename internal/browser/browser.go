// Package browser drives a headless Chromium in tests: it opens pages, acts on
// them as a person does, and tells what each page did wrong: errors on the console,
// violations of its content security policy, failed requests, requests to third
// parties, accessibility faults, and how much it loaded.
//
// A test process has one Chromium, started by the first test that needs it. Each
// New gives a page in a profile of its own, with no cookie and no cache, so tests
// and users in one test do not meet. A package with many tests keeps the Chromium
// for all of them:
//
//	func TestMain(m *testing.M) { os.Exit(browser.Around(m).Run()) }
//
// Nothing here sleeps: whatever is waited for has a deadline, Patience, and fails
// the test there.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Patience is how long one step may take; a loaded machine is slow.
const Patience = time.Minute

// names are those that Chromium goes by; Debian's is the first.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// Runner runs tests, as *testing.M does.
type Runner interface{ Run() int }

// Around gives a Runner that keeps the Chromium between the tests of m. It can be
// handed to goleak.VerifyTestMain, as nothing of the Chromium is left after it.
func Around(m Runner) Runner { return around{m} }

type around struct{ Runner }

func (a around) Run() int {
	shared.hold()
	code := a.Runner.Run()
	if err := shared.release(); err != nil {
		fmt.Fprintln(os.Stderr, "stop Chromium:", err)
		code = max(code, 1)
	}
	return code
}

// chromium is a process that tests share.
type chromium struct {
	mu    sync.Mutex
	users int
	ctx   context.Context // of chromedp, while the process runs
	stop  func() error
}

var shared = &chromium{}

func (c *chromium) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
}

// release gives a hold back; with the last one the process ends, its profile is
// removed, and both have happened when release returns.
func (c *chromium) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 || c.stop == nil {
		return nil
	}
	err := c.stop()
	c.stop = nil
	return err
}

// use starts the process if it does not run, and keeps it until the test's end.
func (c *chromium) use(t testing.TB) context.Context {
	t.Helper()
	c.hold()
	t.Cleanup(func() {
		if err := c.release(); err != nil {
			t.Errorf("stop Chromium: %v", err)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		if err := c.start(); err != nil {
			t.Fatal(err)
		}
	}
	return c.ctx
}

func (c *chromium) start() error {
	path, err := find()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "chrome-*") // killed, it leaves a socket's directory behind; a socket's path must be short
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Env("TMPDIR="+dir)) // as root it adds --no-sandbox itself
	allocator, freed := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closed := chromedp.NewContext(allocator)
	stop := func() error {
		closed()
		freed()
		return os.RemoveAll(dir)
	}
	if err := chromedp.Do(ctx); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", path, err), stop())
	}
	c.ctx, c.stop = ctx, stop
	return nil
}

func find() (path string, err error) {
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium is in PATH: install the package chromium (Debian's name): %w", err)
}
