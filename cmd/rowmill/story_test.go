package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// told is a line of the log as an operator reads a job's story in it.
type told struct {
	Time    time.Time
	Msg     string
	Level   string
	Attempt int
	Outcome string
	JobID   string `json:"job_id"`
	TraceID string `json:"trace_id"`
}

// story gives what the logs of all processes say of a job, in the order of time.
func (h *house) story(t *testing.T, id string) (lines []told) {
	t.Helper()
	for _, p := range h.all {
		for line := range strings.Lines(p.Log()) {
			var l told
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if l.JobID == id {
				lines = append(lines, l)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b told) int { return a.Time.Compare(b.Time) })
	return lines
}

// has waits until the story has come to the line: a process may write it a moment
// after what it tells can be seen.
func (h *house) has(t *testing.T, id, line string) {
	t.Helper()
	until(t, "the log says "+line, func() bool {
		return slices.ContainsFunc(h.story(t, id), func(l told) bool { return l.short() == line })
	})
}

func (l told) short() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", l.Attempt, l.Msg, l.Outcome))
}

func storyIs(t *testing.T, lines []told, want ...string) {
	t.Helper()
	// The gateway tells of the task once Redis has it: a worker may be quicker.
	i := slices.IndexFunc(lines, func(l told) bool { return l.short() == "1 attempt started" })
	j := slices.IndexFunc(lines, func(l told) bool { return l.short() == "1 export enqueued" })
	if i >= 0 && j > i {
		enqueued := lines[j]
		lines = slices.Insert(slices.Delete(lines, j, j+1), i, enqueued)
	}
	var got []string
	traces := map[string]bool{}
	for _, l := range lines {
		if l.Msg == "progress could not be stored" { // by a slow machine
			continue
		}
		got = append(got, l.short())
		if l.TraceID == "" || l.Msg != "export canceled" { // which is in the trace of who canceled it
			traces[l.TraceID] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(traces) != 1 || traces[""] {
		t.Errorf("the lines are of the traces %v", slices.Collect(maps.Keys(traces)))
	}
}

// By its id alone a job's story is found in the logs of all roles, in order, and it
// is as long for a job of many pages as for one of few.
func TestTheLogTellsAJobsStory(t *testing.T) {
	h, g := smallHouse(t)
	t.Run("of one that loses its worker", func(t *testing.T) {
		g.hold(2)
		worker := h.worker(t)
		id := submit(t, h, "story")
		awaitJob(t, h.client(), id, running)
		h.has(t, id, "1 snapshot taken")
		worker.signal(t, syscall.SIGKILL)
		<-worker.Exited()
		g.release()
		h.worker(t)
		if job := awaitJob(t, h.client(), id, ended); job.Status != export.Succeeded {
			t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
		}
		h.has(t, id, "2 attempt ended succeeded")
		storyIs(t, h.story(t, id),
			"0 export ordered", "0 export accepted", "1 export enqueued", "1 attempt started", "1 snapshot taken",
			"1 a running job has lost its worker", "2 task sent by the sweeper", "2 attempt started", "2 snapshot taken", "2 fetch done",
			"2 file verified", "2 file published", "2 attempt ended succeeded")
	})
	t.Run("of one that is canceled", func(t *testing.T) {
		g.hold(2)
		h.worker(t)
		id := submit(t, h, "canceled-story")
		awaitJob(t, h.client(), id, running)
		h.has(t, id, "1 snapshot taken")
		if _, err := h.client().Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		h.has(t, id, "1 attempt ended fenced")
		g.release()
		storyIs(t, h.story(t, id), "0 export ordered", "0 export accepted", "1 export enqueued", "1 attempt started", "1 snapshot taken",
			"1 export canceled", "1 attempt ended fenced")
	})
}
