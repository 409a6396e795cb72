package audit_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rowmill/audit"
	"rowmill/internal/fault"
)

var at = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func TestAQueryNamesAllThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		query audit.Query
		want  []string
	}{
		{"the least", audit.Query{Limit: 1}, nil},
		{"all set", audit.Query{Actor: "ann", Action: audit.Download, JobID: "j", From: at, To: at.Add(1), Before: "e", Limit: audit.MaxEvents}, nil},
		{"no limit", audit.Query{}, []string{"limit"}},
		{"too many", audit.Query{Limit: audit.MaxEvents + 1}, []string{"limit"}},
		{"an action that is none, and no time between", audit.Query{Limit: 1, Action: "export.eat", From: at, To: at}, []string{"action", "from"}},
	} {
		err := c.query.Check()
		var got []string
		if f, ok := fault.As(err); ok {
			for _, field := range f.Fields {
				got = append(got, field.Name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestExplanationsAreCutAtWholeCharacters(t *testing.T) {
	long := strings.Repeat("가", 600)
	e, err := audit.Event{ID: "e", At: at, Action: audit.Create, ActorName: long, UserAgent: long, Reason: long + "\xff", Detail: "a\xffb"}.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	got := []int{utf8.RuneCountInString(e.ActorName), utf8.RuneCountInString(e.Reason), len(e.UserAgent)}
	if diff := cmp.Diff([]int{255, 500, 255}, got); diff != "" { // 85 characters of three bytes
		t.Errorf("lengths (-want +got):\n%s", diff)
	}
	if e.Detail != "a\uFFFDb" || !utf8.ValidString(e.UserAgent) {
		t.Errorf("detail %q, user agent %q", e.Detail, e.UserAgent)
	}
}

func TestAnEventThatNamesNothingRightlyIsRefused(t *testing.T) {
	whole := audit.Event{ID: "e", At: at, Actor: "ann", Action: audit.SignIn}
	if _, err := whole.Bounded(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*audit.Event){
		"no id":             func(e *audit.Event) { e.ID = "" },
		"no time":           func(e *audit.Event) { e.At = time.Time{} },
		"no action":         func(e *audit.Event) { e.Action = "" },
		"an unknown action": func(e *audit.Event) { e.Action = "export.eat" },
		"a long actor":      func(e *audit.Event) { e.Actor = strings.Repeat("a", 256) },
		"an actor of bytes": func(e *audit.Event) { e.Actor = "\xff" },
		"a long job":        func(e *audit.Event) { e.JobID = strings.Repeat("a", 65) },
		"a long request id": func(e *audit.Event) { e.RequestID = strings.Repeat("a", 129) },
	} {
		e := whole
		spoil(&e)
		if _, err := e.Bounded(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
