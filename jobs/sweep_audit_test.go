package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shelf is something kept: what is on it is old. It notes when it is swept.
type shelf struct {
	name   string
	old    int
	err    error
	swept  *[]string
	before time.Time
}

func (s *shelf) Retain(_ context.Context, before time.Time, limit int) (int, error) {
	*s.swept = append(*s.swept, s.name)
	s.before = before
	removed := min(s.old, limit)
	s.old -= removed
	return removed, s.err
}

func TestTheAuditIsSweptAtItsPaceUntilNothingOldIsLeft(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	var swept []string
	events, sets := &shelf{name: "events", old: 2*auditBatch + 1, swept: &swept}, &shelf{name: "sets", swept: &swept}
	var log strings.Builder
	h := newHouse(t)
	s := h.sweeper(&files{}, func() time.Time { return now })
	s.cfg.Kept, s.cfg.Logger = []Kept{events, sets}, textLog(&log)

	sweep(t, s)
	want := []string{"events", "events", "events", "sets"}
	if diff := cmp.Diff(want, swept); diff != "" || events.old != 0 {
		t.Errorf("%d old events are left (-want +got):\n%s", events.old, diff)
	}
	if !events.before.Equal(now.Add(-17_520 * time.Hour)) {
		t.Errorf("events before %v were removed", events.before)
	}
	if !strings.Contains(log.String(), "entries=1001") {
		t.Errorf("the log says %s", log.String())
	}
	now = now.Add(time.Hour - 1)
	sweep(t, s)
	if len(swept) != len(want) {
		t.Errorf("swept again within the hour: %v", swept)
	}
	now = now.Add(1)
	sweep(t, s)
	if diff := cmp.Diff(append(want, "events", "sets"), swept); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
}

func TestAFailedSweepOfEventsLeavesTheirSets(t *testing.T) {
	var swept []string
	broken := errors.New("broken")
	h := newHouse(t)
	s := h.sweeper(&files{}, time.Now)
	s.cfg.Kept = []Kept{&shelf{name: "events", old: auditBatch, err: broken, swept: &swept}, &shelf{name: "sets", swept: &swept}}
	if err := s.runOnce(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"events"}, swept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
