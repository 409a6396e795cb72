package element_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"rowmill/export"
	"rowmill/gateway"
)

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
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
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

func TestNoWorker(t *testing.T) {
	b := open(t, newStub(t), button)
	b.start()
	b.set(func(v *gateway.JobView) {
		v.Notice = &gateway.Notice{Code: "no-worker", Message: "No worker is running.", Since: v.CreatedAt}
	})
	b.shows("[part=card]", "No worker is running")
	b.shows("[part=card]", "It starts as soon as one runs.")
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
