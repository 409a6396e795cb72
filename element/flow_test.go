package element_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/gateway"
)

func running(percent int, rows int64) func(v *gateway.JobView) {
	return func(v *gateway.JobView) {
		v.Status, v.Phase, v.Place, v.Percent, v.RowsWritten = export.Running, export.PhaseFetch, 0, percent, rows
	}
}

func succeeded(v *gateway.JobView) {
	v.Status, v.Phase, v.Percent, v.RowsWritten = export.Succeeded, "", 100, v.RowsExpected
	v.ExpiresAt = v.CreatedAt.AddDate(0, 0, 7)
	v.Receipt = &export.Receipt{Bytes: 5123456, Written: v.RowsExpected}
}

func TestFromTheClickToTheFile(t *testing.T) {
	b := open(t, newStub(t), button)
	if got := b.eval("[shown('[part=card]'), text('[part=button]').trim()]"); joined(got) != "false, Export" {
		t.Errorf("idle: %v", got)
	}

	b.press("[part=button]")
	b.shows("[part=estimate]", "44,224")
	b.shows("[part=estimate]", "5.12 MB")
	if got := joined(b.eval("[...$('[part=columns]').querySelectorAll(':checked')].map((e) => e.value)")); got != "guest_name, code, check_in" {
		t.Errorf("preselected are %s; want those on the screen, in its order", got)
	}
	if b.eval("shown('.personal')") == true {
		t.Error("personal data are offered without pii:read")
	}
	b.press("[part=start]")
	b.shows("[part=card]", "Place 3 in the queue")
	if got := b.eval("[$('[part=button]').disabled, Boolean($('dialog'))]"); joined(got) != "true, false" {
		t.Errorf("button disabled, panel there: %v", got)
	}

	b.set(running(37, 16000))
	b.shows("[part=card]", "16,000 of 44,224 rows")
	b.wait("$('[role=progressbar]').getAttribute('aria-valuenow') === '37'")
	b.shows(".live", "Writing rows 30 %")
	b.set(running(38, 16400))
	b.wait("$('[role=progressbar]').getAttribute('aria-valuenow') === '38'")
	b.shows(".live", "Writing rows 30 %")

	b.set(succeeded)
	b.shows("[part=card]", "The file is ready")
	b.shows("[part=card]", "5.12 MB · 44,224 rows · kept until Dec 7, 2026")
	if got, want := b.eval("$('[part=download]').href"), b.URL+"/api/v1/exports/job-1/file"; got != want {
		t.Errorf("download leads to %v, want %s", got, want)
	}
	if got := joined(b.eval("events")); !strings.HasPrefix(got, "export-state queued") || !strings.HasSuffix(got, "export-state succeeded, export-done succeeded") {
		t.Errorf("events: %s", got)
	}

	var order map[string]any
	if err := json.Unmarshal([]byte(b.created()[0].body), &order); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"dataset": "reservations", "format": "xlsx", "language": "en", "sort": "check_in", "order": "desc",
		"filter": map[string]any{"status": []any{"Canceled"}}, "columns": []any{"guest_name", "code", "check_in"},
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestDoubleClickMakesOneJob(t *testing.T) {
	b := open(t, newStub(t), button)
	b.pressTwice("[part=button]")
	b.pressTwice("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
	b.wait("!$('dialog')")
	b.pressTwice("[part=card]")
	b.eval("$('[part=button]').click()")
	if n := len(b.created()); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if b.eval("Boolean($('dialog'))") == true {
		t.Error("the panel opens again beside a job that is alive")
	}
}

func TestSameIntentionHasTheSameKey(t *testing.T) {
	s := newStub(t)
	s.instead("POST /api/v1/exports", problem(http.StatusTooManyRequests, "At most 3 exports at once.", "1"))
	b := open(t, s, button)
	b.press("[part=button]")
	b.press("[part=start]")
	b.shows(".error", "Too many requests. Try again in 1 sec. At most 3 exports at once.")
	b.press("[part=start]") // once it may be pressed again
	b.shows("[part=card]", "Waiting in the queue")
	b.set(succeeded)
	b.start()
	keys := []string{}
	for _, c := range b.created() {
		keys = append(keys, c.key)
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("keys %q; want the same for the same intention and another for the next", keys)
	}
}

func TestReloadInTheMiddle(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(running(40, 17000))
	b.shows("[part=card]", "17,000")
	b.run(chromedp.Reload())
	b.shows("[part=card]", "17,000 of 44,224 rows")
	b.set(succeeded)
	b.shows("[part=card]", "The file is ready")
	b.run(chromedp.Reload())
	b.shows("[part=card]", "The file is ready")
	if got := joined(b.eval("events")); strings.Contains(got, "export-done") {
		t.Errorf("events after the last reload: %s; the page was told before", got)
	}
	b.press("[part=close]")
	b.run(chromedp.Reload())
	b.wait("text('[part=button]').trim() === 'Export'")
	if b.eval("shown('[part=card]')") == true {
		t.Error("a job that was put away comes back")
	}
	if n := len(b.created()); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestWithoutEventsItAsks(t *testing.T) {
	s := newStub(t)
	for range 20 {
		s.instead("GET /api/v1/exports/job-1/events", problem(http.StatusServiceUnavailable, "All event streams are taken.", "0"))
	}
	s.instead("GET /api/v1/exports/job-1",
		problem(http.StatusTooManyRequests, "Slower.", "0"), problem(http.StatusBadGateway, "", "0"))
	b := open(t, s, button)
	b.start()
	b.set(running(50, 22000))
	b.shows("[part=card]", "22,000 of 44,224 rows")
	b.set(succeeded)
	b.shows("[part=card]", "The file is ready")
}

func TestStreamThatBreaksIsOpenedAgain(t *testing.T) {
	s := newStub(t)
	seen := make(chan struct{})
	s.instead("GET /api/v1/exports/job-1/events", func(w http.ResponseWriter, _ *http.Request) {
		v, _ := s.now()
		v.Status, v.Percent, v.RowsWritten = export.Running, 10, 4000
		data, _ := json.Marshal(v)
		_, _ = w.Write([]byte("event: job\ndata: " + string(data) + "\n\nevent: job\ndata: {\"cut"))
		_ = http.NewResponseController(w).Flush()
		<-seen
		panic(http.ErrAbortHandler) // hangs up
	})
	b := open(t, s, button)
	b.press("[part=button]")
	b.press("[part=start]")
	b.shows("[part=card]", "4,000 of 44,224 rows")
	close(seen)
	b.set(running(60, 26000))
	b.shows("[part=card]", "26,000 of 44,224 rows")
	b.set(running(70, 30000))
	b.shows("[part=card]", "30,000 of 44,224 rows")
	if n := b.count("GET", "/api/v1/exports/job-1/events"); n < 2 {
		t.Errorf("the stream was opened %d times, want it opened again", n)
	}
}

func TestLostConnectionIsSaid(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.setDown(true)
	b.shows("[part=card]", "Connection lost. Trying again…")
	b.set(running(60, 26000))
	b.setDown(false)
	b.eval("dispatchEvent(new Event('online'))") // the browser says so where it knows
	b.shows("[part=card]", "26,000 of 44,224 rows")
	b.wait("!text('[part=card]').includes('Connection lost')")
}

func TestEndsWithWords(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		words  string
		signIn bool
	}{
		{"unknown", http.StatusNotFound, "This export is no longer there", false},
		{"signed out", http.StatusUnauthorized, "You are not signed in", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStub(t)
			s.instead("GET /api/v1/exports/job-1/events", problem(test.status, "Why.", ""))
			b := open(t, s, button)
			b.press("[part=button]")
			b.press("[part=start]")
			b.shows("[part=card]", test.words)
			if got := b.eval("shown('[part=sign-in]') && new URL($('[part=sign-in]').href).pathname === '/auth/login'"); got != test.signIn {
				t.Errorf("sign-in offered: %v, want %v", got, test.signIn)
			}
			b.press("[part=close]")
			b.wait("!shown('[part=card]') && !$('[part=button]').disabled")
		})
	}
}

func TestFailedIsTriedAgain(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(func(v *gateway.JobView) {
		v.Status, v.Failure = export.Failed, &gateway.FailureView{Code: "unavailable", Message: "The file store did not answer."}
	})
	b.shows("[part=card]", "The export failed")
	b.shows("[part=card]", "The file store did not answer.")
	b.shows("[part=card]", "job-1")
	b.press("[part=retry]")
	b.shows("[part=card]", "Waiting in the queue")
	if n := b.count("POST", "/api/v1/exports/job-1/again"); n != 1 {
		t.Errorf("asked again %d times, want 1", n)
	}
	b.set(succeeded)
	b.shows("[part=card]", "The file is ready")
}

func TestTriedAgainWithoutTheRoute(t *testing.T) {
	s := newStub(t)
	s.instead("POST /api/v1/exports/job-1/again", problem(http.StatusNotFound, "There is nothing at this address.", ""))
	b := open(t, s, button)
	b.start()
	b.set(func(v *gateway.JobView) { v.Status = export.Expired })
	b.shows("[part=card]", "The file’s time is over")
	b.press("[part=retry]")
	b.shows("[part=card]", "Waiting in the queue")
	if orders := b.created(); len(orders) != 2 || !strings.Contains(orders[1].body, `"columns":["guest_name","code","check_in"]`) {
		t.Errorf("orders %+v; want the same request twice", orders)
	}
}

func TestCancel(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(running(20, 9000))
	b.press("[part=cancel]")
	b.shows("[part=card]", "The export was canceled")
	if n := b.count("DELETE", "/api/v1/exports/job-1"); n != 1 {
		t.Errorf("canceled %d times, want 1", n)
	}
	b.wait("!$('[part=button]').disabled && shown('[part=retry]')")
}

func TestCancelThatComesTooLate(t *testing.T) {
	s := newStub(t)
	s.instead("DELETE /api/v1/exports/job-1", func(w http.ResponseWriter, r *http.Request) {
		s.set(succeeded)
		problem(http.StatusConflict, "The export is succeeded already.", "")(w, r)
	})
	b := open(t, s, button)
	b.start()
	b.press("[part=cancel]")
	b.shows("[part=card]", "The file is ready")
}

func TestNoWorker(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(func(v *gateway.JobView) {
		v.Notice = &gateway.Notice{Code: "no-worker", Message: "No worker is running.", Since: v.CreatedAt}
	})
	b.shows("[part=card]", "No worker is running")
	b.shows("[part=card]", "It starts as soon as one runs.")
}

func TestBearer(t *testing.T) {
	gatewayAt, page := newStub(t), newStub(t)
	gatewayAt.token = "right"
	allow := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", page.URL)
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key")
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	gatewayAt.Config.Handler = allow(gatewayAt.Config.Handler)
	b := open(t, page, `<export-button gateway="`+gatewayAt.URL+`/" token-callback="giveToken"></export-button>`)
	b.press("[part=button]")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
	gatewayAt.set(succeeded)
	b.shows("[part=card]", "The file is ready")
	b.press("[part=download]")
	b.waitFor(func() bool { return gatewayAt.count("GET", "/api/v1/files/signed-job-1") == 1 })
	if refused := slices.ContainsFunc(gatewayAt.asked("", "/api/"), func(c call) bool {
		return c.authorization != "Bearer right" && !strings.HasPrefix(c.path, "/api/v1/files/")
	}); refused {
		t.Error("a call went without the token")
	}
	if n := len(page.asked("", "/api/")); n != 0 {
		t.Errorf("%d calls went to the page's own server", n)
	}
}

func TestTokenThatIsRefused(t *testing.T) {
	s := newStub(t)
	s.token = "right"
	b := open(t, s, button)
	b.eval("document.querySelector('export-button').tokenProvider = async () => 'wrong'; 0")
	b.press("[part=button]")
	b.shows(".error", "You are not signed in")
	b.eval("let n = 0; document.querySelector('export-button').tokenProvider = () => (n++ ? 'right' : 'stale'); $('[part=dismiss]').click(); 0")
	b.wait("!$('dialog')")
	b.start()
}

func TestKorean(t *testing.T) {
	b := open(t, newStub(t), `<export-button language="ko"></export-button>`)
	b.shows("[part=button]", "내보내기")
	b.press("[part=button]")
	b.shows("[part=panel]", "12개 중 10개")
	b.shows("[part=columns]", "투숙객")
	b.press("[part=start]")
	b.shows("[part=card]", "대기 순서 3번째")
	b.set(running(37, 16000))
	b.shows("[part=card]", "44,224행 중 16,000행")
	b.eval("document.querySelector('export-button').setAttribute('language', 'en'); 0")
	b.shows("[part=card]", "16,000 of 44,224 rows")
	if order := b.created()[0].body; !strings.Contains(order, `"language":"ko"`) {
		t.Errorf("order %s; want Korean titles", order)
	}
}

func TestPersonalDataInTheClear(t *testing.T) {
	s := newStub(t)
	s.permissions = append(s.permissions, "pii:read")
	b := open(t, s, button)
	b.press("[part=button]")
	b.press(".personal input")
	b.wait("$('[part=reason]').required && $('[part=start]').disabled && shown('[part=reason]')")
	b.press("[part=reason]")
	b.run(chromedp.KeyEvent("Tax"))
	b.wait("$('[part=estimate]').ariaBusy === 'false' && $('[part=start]').disabled")
	b.run(chromedp.KeyEvent(" audit"))
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
	if order := b.created()[0].body; !strings.Contains(order, `"personal":true,"reason":"Tax audit"`) {
		t.Errorf("order %s; want it personal, with its reason", order)
	}
}

func TestWarnings(t *testing.T) {
	s := newStub(t)
	s.preflight["warnings"] = []any{
		map[string]string{"code": "many-sheets", "message": "3 sheets", "suggest": "csv"},
		map[string]string{"code": "something-new", "message": "The server knows more.", "suggest": ""},
	}
	b := open(t, s, button)
	b.press("[part=button]")
	b.shows("[part=estimate]", "Excel will show several sheets")
	b.shows("[part=estimate]", "The server knows more.")
	b.press("[part=use-csv]")
	b.wait("!text('[part=estimate]').includes('sheets') && text('[part=estimate]').includes('44,224')")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
	if order := b.created()[0].body; !strings.Contains(order, `"format":"csv"`) {
		t.Errorf("order %s; want CSV", order)
	}
}

func TestTooManyRowsCannotStart(t *testing.T) {
	s := newStub(t)
	s.preflight["max_rows"] = 1000
	s.preflight["warnings"] = []any{map[string]string{"code": "too-many-rows", "message": "x", "suggest": ""}}
	b := open(t, s, button)
	b.press("[part=button]")
	b.shows("[part=estimate]", "More rows than you may export at once (1,000).")
	if b.eval("$('[part=start]').disabled") != true {
		t.Error("it can be started")
	}
}

func TestColumns(t *testing.T) {
	b := open(t, newStub(t), button)
	b.press("[part=button]")
	b.shows(".bulk", "3 of 12")
	b.press(".bulk button:nth-of-type(3)")
	b.shows("[part=estimate]", "Choose at least one column.")
	if b.eval("$('[part=start]').disabled") != true {
		t.Error("an export without columns can be started")
	}
	b.press(".bulk button:nth-of-type(2)")
	b.shows(".bulk", "12 of 12")
	b.press(".bulk button:nth-of-type(1)")
	b.press("[part=columns] [value=amount]")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
	if order := b.created()[0].body; !strings.Contains(order, `"columns":["guest_name","code","check_in","amount"]`) {
		t.Errorf("order %s; want the columns of the screen and the amount", order)
	}
}

func TestWithoutPreflight(t *testing.T) {
	s := newStub(t)
	s.instead("POST /api/v1/exports/preflight", problem(http.StatusServiceUnavailable, "The rows cannot be counted now.", "1"))
	b := open(t, s, button)
	b.press("[part=button]")
	b.shows("[part=estimate]", "You can start all the same.")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
}

func TestWrongFilter(t *testing.T) {
	b := open(t, newStub(t), `<export-button filter="{"></export-button>`)
	b.press("[part=button]")
	b.shows(".error", "The filter of this button is neither JSON nor a query.")
	b.eval("document.querySelector('export-button').filter = {status: ['Canceled']}; 0")
	b.shows("[part=estimate]", "44,224")
	b.press("[part=start]")
	b.shows("[part=card]", "Waiting in the queue")
}

func TestKeyboard(t *testing.T) {
	b := open(t, newStub(t), button)
	b.eval("document.querySelector('export-button').shadowRoot.querySelector('button').focus()")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.shows("[part=estimate]", "44,224")
	if b.eval("$('dialog').contains(document.querySelector('export-button').shadowRoot.activeElement)") != true {
		t.Error("the focus is not in the panel")
	}
	b.run(chromedp.KeyEvent(kb.Escape))
	b.wait("!$('dialog') && document.querySelector('export-button').shadowRoot.activeElement === $('[part=button]')")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.wait("shown('[part=start]') && !$('[part=start]').disabled")
	b.eval("$('[part=start]').focus()")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.wait("!$('dialog') && document.querySelector('export-button').shadowRoot.activeElement === $('[part=card]')")
	b.eval("$('[part=cancel]').focus()")
	b.set(succeeded)
	b.wait("document.querySelector('export-button').shadowRoot.activeElement === $('[part=download]')")
}

func TestRemovedElementStopsItsStream(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.waitFor(func() bool { return b.stub.open(0) == 1 })
	b.eval("window.kept = document.querySelector('export-button'); kept.remove(); 0")
	b.waitFor(func() bool { return b.stub.open(0) == 0 })
	b.set(running(50, 22000))
	b.eval("document.body.append(kept); 0")
	b.shows("[part=card]", "22,000 of 44,224 rows")
}

func TestRemovedWhileItAsks(t *testing.T) {
	b := open(t, newStub(t), button)
	b.press("[part=button]")
	b.eval("window.kept = document.querySelector('export-button'); kept.remove(); document.body.append(kept); 0")
	b.wait("!$('dialog') && !$('[part=button]').disabled")
}

func TestSeveralOnAPage(t *testing.T) {
	b := open(t, newStub(t), `<export-button id="one"></export-button><export-button id="two" filter="status=Canceled"></export-button>`)
	b.start()
	if got := b.eval("$('[part=card]', document.querySelector('#two')).getClientRects().length"); got != 0.0 {
		t.Error("the other button shows the job too")
	}
	b.run(chromedp.Reload())
	b.shows("[part=card]", "Waiting in the queue")
	if got := b.eval("$('[part=card]', document.querySelector('#two')).getClientRects().length"); got != 0.0 {
		t.Error("the other button takes the job up")
	}
	b.eval("document.querySelector('#one').setAttribute('dataset', 'other'); 0")
	b.wait("!shown('[part=card]')")
	b.eval("document.querySelector('#one').setAttribute('dataset', 'reservations'); 0")
	b.shows("[part=card]", "Waiting in the queue")
}

func TestFitsANarrowScreen(t *testing.T) {
	s := newStub(t)
	s.permissions = append(s.permissions, "pii:read")
	b := open(t, s, button)
	b.run(chromedp.EmulateViewport(375, 667))
	b.press("[part=button]")
	b.shows("[part=estimate]", "44,224")
	b.press(".personal input")
	b.wait("!$('[part=start]').getAnimations().length")
	got := b.eval(`[$('dialog'), $('[part=start]'), $('[part=columns]')].every((e) => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= 375 && r.top >= 0 && r.bottom <= 667; })
		&& $('.body').scrollWidth <= $('.body').clientWidth && document.documentElement.scrollWidth <= 375`)
	if got != true {
		t.Error("the panel does not fit 375 × 667")
	}
	b.press("[part=dismiss]")
	b.start()
	b.set(running(37, 16000))
	b.shows("[part=card]", "16,000")
	if b.eval("$('[part=card]').getBoundingClientRect().right <= 375") != true {
		t.Error("the card does not fit 375")
	}
}

func TestTimeLeft(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	rows := int64(0)
	b.waitFor(func() bool {
		rows += 10
		b.set(running(1, rows))
		return b.eval("/^Writing rows[^]* of 44,224 rows · about .+ left/.test(text('[part=card]'))") == true
	})
}

func TestBearerWithoutSignedLinks(t *testing.T) {
	s := newStub(t)
	s.token = "right"
	s.instead("POST /api/v1/exports/job-1/link", problem(http.StatusNotFound, "There is nothing at this address.", ""))
	b := open(t, s, `<export-button token-callback="giveToken"></export-button>`)
	b.start()
	b.set(succeeded)
	b.press("[part=download]")
	b.waitFor(func() bool { return b.count("GET", "/api/v1/exports/job-1/file") == 1 })
	if got := b.asked("GET", "/api/v1/exports/job-1/file")[0].authorization; got != "Bearer right" {
		t.Errorf("the file was asked for with %q", got)
	}
}

func TestProviderThatComesLate(t *testing.T) {
	s := newStub(t)
	b := open(t, s, button)
	b.start()
	s.mu.Lock()
	s.token = "right"
	s.mu.Unlock()
	b.run(chromedp.Reload())
	b.shows("[part=card]", "You are not signed in")
	b.eval("document.querySelector('export-button').tokenProvider = giveToken; 0")
	b.shows("[part=card]", "Waiting in the queue")
}
