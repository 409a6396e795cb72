package repository

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/audit"
	"rowmill/internal/fault"
)

func eachAudit(t *testing.T, test func(t *testing.T, a *Audit)) {
	t.Helper()
	eachEngine(t, func(t *testing.T, db *DB) { test(t, NewAudit(db)) })
}

func mustRecord(t *testing.T, a *Audit, events ...audit.Event) {
	t.Helper()
	for _, e := range events {
		if err := a.Record(t.Context(), e); err != nil {
			t.Fatalf("record %s: %v", e.ID, err)
		}
	}
}

func eventIDs(events []audit.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// everyEvent gives the ids of all events of the query.
func everyEvent(t *testing.T, a *Audit, q audit.Query) (ids []string) {
	t.Helper()
	for e, err := range a.All(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func TestAnEventComesBackAsItWasRecorded(t *testing.T) {
	eachAudit(t, func(t *testing.T, a *Audit) {
		want := audit.Event{
			ID: "e1", At: now, Actor: "ann@example", ActorName: "김 앤", Address: "2001:db8::1", UserAgent: "curl/8 <'\">", RequestID: "r-1",
			Action: audit.Create, JobID: "j1", Dataset: "reservations", Filter: map[string][]string{"q": {"김", "O'Neil"}, "status": {"Canceled"}},
			Sort: "check_in desc", Columns: []string{"id", "guest_name"}, Personal: true, Reason: "복구 요청 😀", Rows: 3_000_000, Bytes: 5 << 32,
			SHA256: strings.Repeat("0a", 32), Detail: "as asked",
		}
		least := audit.Event{ID: "e0", At: now.Add(-time.Second), Action: audit.SignIn}
		mustRecord(t, a, want, least)
		want.At, least.At = stored(want.At), stored(least.At)
		got, err := a.List(t.Context(), audit.Query{Limit: 9})
		if diff := cmp.Diff([]audit.Event{want, least}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if err := a.Record(t.Context(), want); fault.KindOf(err) != fault.Conflict {
			t.Errorf("the same id again: %v", err)
		}
		if err := a.Record(t.Context(), audit.Event{ID: "e2", At: now, Action: "export.eat"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an action that is none: %v", err)
		}
	})
}

// nineEvents are three at a time, of two actors, two actions and two jobs.
func nineEvents() (events []audit.Event) {
	for i := range 9 {
		events = append(events, audit.Event{
			ID: fmt.Sprintf("e%d", i), At: now.Add(time.Duration(i/3) * time.Second), Actor: [...]string{"ann", "bob"}[i%2],
			Action: [...]audit.Action{audit.Create, audit.Download, audit.Download}[i%3], JobID: [...]string{"j0", "j1"}[i/5],
		})
	}
	return events
}

func TestTheAuditIsPagedNewestFirst(t *testing.T) {
	eachAudit(t, func(t *testing.T, a *Audit) {
		mustRecord(t, a, nineEvents()...)
		for name, test := range map[string]struct {
			q    audit.Query
			want []string
		}{
			"newest":              {audit.Query{Limit: 4}, []string{"e8", "e7", "e6", "e5"}},
			"within a tie":        {audit.Query{Limit: 3, Before: "e5"}, []string{"e4", "e3", "e2"}},
			"an actor's":          {audit.Query{Limit: 9, Actor: "bob", Before: "e6"}, []string{"e5", "e3", "e1"}},
			"of an action":        {audit.Query{Limit: 9, Action: audit.Create}, []string{"e6", "e3", "e0"}},
			"of a job":            {audit.Query{Limit: 9, JobID: "j0"}, []string{"e4", "e3", "e2", "e1", "e0"}},
			"from a moment":       {audit.Query{Limit: 9, From: now.Add(2 * time.Second)}, []string{"e8", "e7", "e6"}},
			"before a moment":     {audit.Query{Limit: 9, To: now.Add(time.Second)}, []string{"e2", "e1", "e0"}},
			"all at once":         {audit.Query{Limit: 9, Actor: "bob", Action: audit.Download, JobID: "j0", From: now, To: now.Add(time.Second)}, []string{"e1"}},
			"the end":             {audit.Query{Limit: 9, Before: "e0"}, nil},
			"of nobody, by bytes": {audit.Query{Limit: 9, Actor: "Ann"}, nil},
		} {
			got, err := a.List(t.Context(), test.q)
			if diff := cmp.Diff(test.want, eventIDs(got)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if _, err := a.List(t.Context(), audit.Query{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("no limit: %v", err)
		}
		if _, err := a.List(t.Context(), audit.Query{Limit: 1, Before: "none"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("before no event: %v", err)
		}
	})
}

// More than one page, and many of one moment, so that a page ends among them.
func TestAllEventsComeOnceAndInOrder(t *testing.T) {
	eachAudit(t, func(t *testing.T, a *Audit) {
		const n = 2*auditPage + 7
		var rows [][]any
		var want []string
		for i := range n {
			id, at := fmt.Sprintf("e%05d", i), moment{now.Add(time.Duration(i/300) * time.Second)}
			rows = append(rows, []any{id, at, "ann", "", "", "", "", "export.create", "", "", "null", "", "null", 0, "", 0, 0, "", ""})
			want = append([]string{id}, want...)
		}
		insert(t, a.db, "audit_events (id, at, actor, actor_name, address, user_agent, request_id, action, job_id, dataset,"+
			" filter, sort, column_keys, personal, reason, row_count, byte_count, sha256, detail)", rows)
		if diff := cmp.Diff(want, everyEvent(t, a, audit.Query{Before: "ignored"})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := everyEvent(t, a, audit.Query{Actor: "bob"}); got != nil {
			t.Errorf("of bob: %v", got)
		}
		taken := 0
		for e, err := range a.All(t.Context(), audit.Query{}) {
			if err != nil || e.ID != want[taken] {
				t.Fatalf("event %s after %d, %v", e.ID, taken, err)
			}
			if taken++; taken == 3 {
				break // and no connection is held: the next query would wait for it
			}
		}
		for _, err := range a.All(t.Context(), audit.Query{Action: "export.eat"}) {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("an action that is none: %v", err)
			}
		}
	})
}

func TestOldEventsAreRemovedTheOldestFirst(t *testing.T) {
	eachAudit(t, func(t *testing.T, a *Audit) {
		mustRecord(t, a, nineEvents()...)
		for _, step := range []struct {
			before  time.Time
			limit   int
			removed int
			left    []string
		}{
			{now, 9, 0, []string{"e8", "e7", "e6", "e5", "e4", "e3", "e2", "e1", "e0"}},
			{now.Add(time.Second), 2, 2, []string{"e8", "e7", "e6", "e5", "e4", "e3", "e2"}},
			{now.Add(time.Second), 2, 1, []string{"e8", "e7", "e6", "e5", "e4", "e3"}},
			{now.Add(time.Hour), 9, 6, nil},
		} {
			removed, err := a.Retain(t.Context(), step.before, step.limit)
			if diff := cmp.Diff(step.left, everyEvent(t, a, audit.Query{})); diff != "" || removed != step.removed || err != nil {
				t.Errorf("%d of %d removed, %v (-want +got):\n%s", removed, step.removed, err, diff)
			}
		}
	})
}
