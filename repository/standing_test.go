package repository

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

func TestStandingCountsWhatWaitsAndWorks(t *testing.T) {
	eachJobs(t, func(t *testing.T, jobs *Jobs) {
		at := now.Add(time.Minute)
		standing := func() export.Standing {
			s, err := jobs.Standing(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if diff := cmp.Diff(export.Standing{Queues: map[export.Queue]export.QueueStanding{}}, standing()); diff != "" {
			t.Errorf("of nothing (-want +got):\n%s", diff)
		}
		add := func(id string, queue export.Queue, runAt time.Time) {
			j := newJob(id)
			j.Queue, j.RunAt = queue, runAt
			j.Request.FileName = id // each another request
			mustInsert(t, jobs, j)
		}
		add("due", export.QueueSmall, now)
		add("due later", export.QueueSmall, now.Add(20*time.Second))
		add("to be tried again", export.QueueSmall, at.Add(time.Second))
		add("tried", export.QueueLarge, now)
		add("ended", export.QueueLarge, now)
		add("waiting only", export.QueueLarge, at.Add(time.Hour))
		mustClaim(t, jobs, "tried", 1)
		if _, _, err := jobs.Cancel(t.Context(), "ended", now); err != nil {
			t.Fatal(err)
		}
		if err := jobs.Beat(t.Context(), "w1", at); err != nil {
			t.Fatal(err)
		}
		want := export.Standing{Workers: 1, Queues: map[export.Queue]export.QueueStanding{
			export.QueueSmall: {Due: 2, Later: 1, Oldest: time.Minute},
			export.QueueLarge: {Later: 1, Running: 1},
		}}
		if diff := cmp.Diff(want, standing()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The jobs that have ended are not read, however many there are.
func TestStandingReadsLiveJobsByAnIndex(t *testing.T) {
	db := analyzed(t)
	for _, s := range recorded(t, db, func(db *DB) error {
		_, err := NewJobs(db).Standing(t.Context(), now)
		return err
	}) {
		for _, row := range explain(t, db, s) {
			if row.table == "export_jobs" && (row.access == "ALL" || row.access == "index" || row.key == "") {
				t.Errorf("%+v\n%s", row, s)
			}
		}
	}
}

func TestAStatementIsNamedByWhatItDoesAlone(t *testing.T) {
	for query, want := range map[string][2]string{
		"SELECT id, name FROM guests WHERE reservation_id BETWEEN 17 AND 99":   {"SELECT", "guests"},
		"select `id` from `export_jobs` where id = ?":                          {"SELECT", "export_jobs"},
		"INSERT INTO `export_jobs` (`id`) VALUES (?)":                          {"INSERT", "export_jobs"},
		"UPDATE `workers` SET seen_at = ?":                                     {"UPDATE", "workers"},
		"DELETE FROM audit_events WHERE at < ?":                                {"DELETE", "audit_events"},
		"SELECT r.id FROM (SELECT id FROM reservations WHERE code = 'x') AS r": {"SELECT", ""},
		"SELECT 1":                 {"SELECT", ""},
		"":                         {"SQL", ""},
		"secret":                   {"SQL", ""},
		"SELECT x FROM 4711secret": {"SELECT", ""},
	} {
		verb, table := summary(query)
		if got := [2]string{verb, table}; got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}
