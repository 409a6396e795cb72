package element_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
	b.wait("$('[part=button]').disabled && !$('dialog')") // a dialog tells later that it has closed

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

func TestTimesAreInTheZoneThatIsNamed(t *testing.T) {
	b := open(t, newStub(t), `<export-button language="en" time-zone="Pacific/Kiritimati"></export-button>`)
	b.start()
	b.set(func(v *gateway.JobView) {
		succeeded(v)
		v.ExpiresAt = time.Date(2026, 12, 7, 20, 19, 0, 0, time.UTC)
	})
	b.shows("[part=card]", "kept until Dec 8, 2026")
	b.eval("document.querySelector('export-button').setAttribute('time-zone', 'America/Los_Angeles'); 0")
	b.shows("[part=card]", "kept until Dec 7, 2026")
	b.eval("document.querySelector('export-button').setAttribute('time-zone', 'Nowhere/Land'); 0")
	b.shows("[part=card]", "kept until Dec ") // the browser's own
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

// The page has stood open past the file's time.
func TestDownloadOfAFileWhoseTimeIsOver(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(succeeded)
	b.shows("[part=card]", "The file is ready")
	b.set(func(v *gateway.JobView) { v.Status = export.Expired })
	b.press("[part=download]")
	b.shows("[part=card]", "The file’s time is over")
	b.wait("shown('[part=retry]') && !shown('[part=download]')")
	if n := b.count("GET", "/api/v1/exports/job-1/file"); n != 0 {
		t.Errorf("the file was asked for %d times", n)
	}
}
