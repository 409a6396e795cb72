package cache

import "testing"

func TestEveryEventHasANameOfItsOwn(t *testing.T) {
	seen := map[string]Event{}
	for e := range events {
		if other, twice := seen[e.String()]; twice || e.String() == "" {
			t.Errorf("event %d is called %q, as is %d", e, e, other)
		}
		seen[e.String()] = e
	}
	if got := events.String(); got != "unknown" {
		t.Errorf("what is no event is called %q", got)
	}
}
