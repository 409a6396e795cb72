package element_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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

func TestRemovedWhileItAsks(t *testing.T) {
	b := open(t, newStub(t), button)
	b.press("[part=button]")
	b.eval("window.kept = document.querySelector('export-button'); kept.remove(); document.body.append(kept); 0")
	b.wait("!$('dialog') && !$('[part=button]').disabled")
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
