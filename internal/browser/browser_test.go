package browser

import (
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Around(m)) }

// site serves pages by their paths; every page may load what is its own.
func site(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-inline'; connect-src *; img-src * data:; style-src 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// html is a page that axe-core and the browser find nothing wrong with.
func html(body string) string {
	return `<!doctype html><html lang="en"><head><title>Page</title><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<link rel="icon" href="data:,"></head><body><main><h1>Page</h1>` + body + `</main></body></html>`
}

func TestAPageWithoutFaultHasNone(t *testing.T) {
	url := site(t, map[string]string{"/": html(`<p>Text</p><script>console.log("not an error"); console.warn("nor this")</script>`)})
	p := New(t, Options{})
	p.Open(url + "/")
	r := p.Report()
	if faults := r.Faults(); len(faults) != 0 {
		t.Errorf("%q", faults)
	}
	if r.Requests != 1 || r.Bytes < 300 || r.Bytes > 2000 {
		t.Errorf("%d requests, %d bytes", r.Requests, r.Bytes)
	}
	if found := p.Axe(); len(found) != 0 {
		t.Errorf("%v", found)
	}
	if p.Eval("typeof axe") != "undefined" {
		t.Error("the page sees the checker")
	}
}

func TestPlantedFaultsAreReported(t *testing.T) {
	other := site(t, map[string]string{"/pixel": "x"})
	for name, c := range map[string]struct {
		body string
		of   func(Report) []string
		want string
	}{
		"a logged error":         {`<script>console.error("broken", 42, {a: 1})</script>`, func(r Report) []string { return r.Console }, "broken 42 Object"},
		"an uncaught exception":  {`<script>throw new TypeError("not a row")</script>`, func(r Report) []string { return r.Console }, "TypeError: not a row"},
		"a rejection":            {`<script>Promise.reject(new Error("nobody waits"))</script>`, func(r Report) []string { return r.Console }, "nobody waits"},
		"an inline style":        {`<p style="color: red">Text</p>`, func(r Report) []string { return r.Policy }, "style-src"},
		"a script of another":    {`<script src="` + other + `/pixel"></script>`, func(r Report) []string { return r.Policy }, other + "/pixel"},
		"a request of another":   {`<img alt="" src="` + other + `/pixel">`, func(r Report) []string { return r.ThirdParty }, other + "/pixel"},
		"a missing file":         {`<img alt="" src="/missing">`, func(r Report) []string { return r.Failed }, "404"},
		"a server that is away":  {`<script>fetch("http://127.0.0.1:1/").catch(() => {})</script>`, func(r Report) []string { return r.Failed }, "net::ERR"},
		"a refused late request": {`<script>addEventListener("load", () => fetch("/late"))</script>`, func(r Report) []string { return r.Failed }, "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(t, Options{})
			p.Open(site(t, map[string]string{"/": html(c.body)}))
			r := p.Report()
			if got := strings.Join(c.of(r), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("%q is not in %q of %q", c.want, got, r.Faults())
			}
		})
	}
}

func TestAPlantedBarrierIsFound(t *testing.T) {
	p := New(t, Options{})
	p.Open(site(t, map[string]string{"/": html(`<label for="a">Name</label><input id="a"><input id="b"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`)}))
	var rules []string
	for _, v := range p.Axe() {
		rules = append(rules, v.Rule+" "+v.Impact+" "+strings.Join(v.Where, ","))
	}
	if diff := cmp.Diff([]string{"image-alt critical img", "label critical #b"}, rules); diff != "" {
		t.Error(diff)
	}
}

func TestTheReportIsOfThePageAlone(t *testing.T) {
	url := site(t, map[string]string{"/": html(`<script>console.error("of the first")</script>`), "/next": html(`<p>Text</p>`)})
	p := New(t, Options{})
	p.Open(url + "/")
	p.Reload()
	if r := p.Report(); len(r.Console) != 2 || r.Requests != 2 {
		t.Errorf("after a reload: %+v", r)
	}
	p.Open(url + "/next")
	if r := p.Report(); len(r.Console) != 0 || r.Requests != 1 {
		t.Errorf("of the next page: %+v", r)
	}
}

// What a page that was left had on its way belongs to no report, and is not waited for.
func TestALeftPageIsNotWaitedFor(t *testing.T) {
	never := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-never
		case "/":
			_, _ = io.WriteString(w, html(`<a id="on" href="/next">On</a><script>fetch("/slow").catch(() => {})</script>`))
		default:
			_, _ = io.WriteString(w, html(`<p id="there">There</p>`))
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(never) })
	p := New(t, Options{})
	p.Open(s.URL)
	p.Click("#on")
	p.See("#there")
	if r := p.Report(); r.Requests != 3 || len(r.Faults()) != 0 {
		t.Errorf("after a click: %+v", r)
	}
	p.Open(s.URL)
	p.Open(s.URL + "/next")
	if r := p.Report(); r.Requests != 1 || len(r.Faults()) != 0 {
		t.Errorf("after another address: %+v", r)
	}
}

func TestTheCacheIsKeptUntilItIsForgotten(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600, immutable")
		if r.URL.Path == "/" {
			w.Header().Set("Cache-Control", "no-store")
			_, _ = io.WriteString(w, html(`<script src="/script"></script>`))
		}
	}))
	t.Cleanup(s.Close)
	p := New(t, Options{})
	var got []int
	for _, before := range []func(){func() {}, func() {}, p.ForgetCache} {
		before()
		p.Open(s.URL)
		got = append(got, p.Report().Requests)
	}
	if diff := cmp.Diff([]int{2, 1, 2}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A page with a stream of events is never done loading, and is reported all the same.
func TestAnOpenEventStreamIsNotWaitedFor(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			_, _ = io.WriteString(w, html(`<output></output><script>new EventSource("/events").onmessage = e => { document.querySelector("output").textContent = e.data }</script>`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 42\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	p := New(t, Options{})
	p.Open(s.URL)
	p.Wait(`document.querySelector("output").textContent === "42"`)
	if r := p.Report(); r.Requests != 2 || len(r.Faults()) != 0 {
		t.Errorf("%+v", r)
	}
	p.Open("about:blank") // the server closes when its stream has ended
}

func TestActingAsAPersonDoes(t *testing.T) {
	const form = `<label for="name">Name</label><input id="name" value="old">
<label for="order">Order</label><select id="order"><option value="asc">up</option><option value="desc">down</option></select>
<button id="go">Go</button><p id="out" hidden></p><ul></ul>
<script>
document.querySelector("#order").addEventListener("change", e => { document.querySelector("#name").dataset.order = e.target.value })
document.querySelector("#go").addEventListener("click", () => {
	const out = document.querySelector("#out"), name = document.querySelector("#name")
	setTimeout(() => { out.hidden = false; out.textContent = name.value + " " + name.dataset.order }, 50)
	document.querySelector("ul").append(document.createElement("li"))
	document.querySelector("ul").lastChild.textContent = "click"
})
</script>`
	p := New(t, Options{})
	p.Open(site(t, map[string]string{"/": html(form)}))
	p.Type("#name", "김 A")
	p.Choose("#order", "desc")
	p.Click("#go")
	if got := p.Text("#out"); got != "김 A desc" {
		t.Errorf("the page reads %q", got)
	}
	p.DoubleClick("#go")
	p.Eval(`document.querySelector("#go").focus()`)
	p.Press("\r")
	if diff := cmp.Diff([]string{"click", "click", "click", "click"}, p.Texts("li")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, p.Texts("table")); diff != "" {
		t.Error(diff)
	}
	picture := filepath.Join(t.TempDir(), "page.png")
	p.Screenshot(picture)
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size, err := png.DecodeConfig(f); err != nil || size.Width != 1280 || size.Height < 800 {
		t.Errorf("the picture is %d × %d, %v", size.Width, size.Height, err)
	}
}

func TestWhatTheUserIsLikeReachesThePage(t *testing.T) {
	var language, token string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		language, token = r.Header.Get("Accept-Language"), r.Header.Get("Authorization")
		_, _ = io.WriteString(w, html(""))
	}))
	t.Cleanup(s.Close)
	p := New(t, Options{Width: 390, Height: 844, Phone: true, Dark: true, Language: "ko-KR", Headers: map[string]string{"Authorization": "Bearer 1"}})
	p.Open(s.URL)
	const seen = `[innerWidth, innerHeight, matchMedia("(prefers-color-scheme: dark)").matches, navigator.language, matchMedia("(pointer: coarse)").matches, new Date(0).toLocaleDateString(undefined, {timeZone: "UTC", month: "long"})].join(" ")`
	if got := p.Eval(seen); got != "390 844 true ko-KR true 1월" {
		t.Errorf("the page sees %s", got)
	}
	if !strings.HasPrefix(language, "ko-KR") || token != "Bearer 1" {
		t.Errorf("the server sees %q and %q", language, token)
	}
	p.Resize(1024, 768, false)
	p.Dark(false)
	p.Language("en-GB")
	p.SetHeaders(nil)
	p.Reload()
	if got := p.Eval(seen); got != "1024 768 false en-GB false January" {
		t.Errorf("then the page sees %s", got)
	}
	if !strings.HasPrefix(language, "en-GB") || token != "" {
		t.Errorf("then the server sees %q and %q", language, token)
	}
}

func TestUsersAreApartAndTabsAreNot(t *testing.T) {
	url := site(t, map[string]string{"/": html("")})
	one, two := New(t, Options{}), New(t, Options{})
	one.Open(url)
	one.Eval(`document.cookie = "who=one; path=/"`)
	two.Open(url)
	tab := one.Tab(Options{})
	tab.Open(url)
	got := []string{one.Eval("document.cookie"), two.Eval("document.cookie"), tab.Eval("document.cookie")}
	if diff := cmp.Diff([]string{"who=one", "", "who=one"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDownloadsAreWaitedForWhole(t *testing.T) {
	half := strings.Repeat("rows\n", 50_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, html(`<a id="get" href="/file">Get it</a>`))
			return
		}
		w.Header().Set("Content-Disposition", `attachment; filename="list.csv"; filename*=UTF-8''%EC%98%88%EC%95%BD.csv`)
		w.Header().Set("Content-Length", fmt.Sprint(2*len(half)))
		_, _ = io.WriteString(w, half)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, half)
	}))
	t.Cleanup(s.Close)
	p := New(t, Options{})
	p.Open(s.URL)
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 {
		path := p.Download(dir, func() { p.Click("#get") })
		content, err := os.ReadFile(path)
		if err != nil || string(content) != half+half || path != filepath.Join(dir, "예약.csv") {
			t.Errorf("%s holds %d bytes, %v", path, len(content), err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if r := p.Report(); len(r.Faults()) != 0 {
		t.Errorf("%q", r.Faults())
	}
}

// The Chromium of a process ends with its last user, with all its children and its files.
func TestNothingOfAChromiumIsLeft(t *testing.T) {
	dir, err := os.MkdirTemp("", "left-*") //nolint:usetesting // a test's own is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", dir)
	c := &chromium{}
	t.Run("use", func(t *testing.T) {
		p := &Page{t: t, watcher: newWatcher()}
		p.openTab(c.use(t))
		p.Open("about:blank")
		if n := len(processes(t, dir)); n < 2 {
			t.Errorf("%d processes: nothing is shown", n)
		}
	})
	if left := processes(t, dir); len(left) != 0 {
		t.Errorf("left running: %q", left)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// processes gives the command lines of those that were started with dir in theirs.
func processes(t *testing.T, dir string) (lines []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Fatalf("no process is seen: %v", err)
	}
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), dir) { // else it has ended meanwhile
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}

func TestAMissingChromiumIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := find(); err == nil || !strings.Contains(err.Error(), "install the package chromium") {
		t.Errorf("%q, %v", path, err)
	}
}
