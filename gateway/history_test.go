package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/gateway"
)

func TestCancel(t *testing.T) {
	strangers := jobIn(export.Queued)
	strangers.ID, strangers.RequestedBy = "job-strangers", "somebody else"
	w := newWorld(t, withJobs(jobIn(export.Queued), jobIn(export.Running), jobIn(export.Succeeded), jobIn(export.Failed),
		jobIn(export.Canceled), jobIn(export.Expired), strangers))
	w.queue.err = errBroken // telling the attempt is at best effort
	for _, c := range []struct {
		id     string
		status int
		kind   string
	}{
		{"job-queued", 200, ""},
		{"job-queued", 200, ""}, // again
		{"job-running", 200, ""},
		{"job-canceled", 200, ""},
		{"job-succeeded", 409, "conflict"},
		{"job-failed", 409, "conflict"},
		{"job-expired", 409, "conflict"},
		{"job-strangers", 404, "not-found"},
		{"job-unknown", 404, "not-found"},
	} {
		rec := w.call("DELETE", exportsPath+"/"+c.id, "")
		if c.kind != "" {
			wantProblem(t, rec, c.status, c.kind)
			continue
		}
		if view := decode[gateway.JobView](t, rec.Body); rec.Code != c.status || view.Status != export.Canceled || view.Links.Cancel != "" {
			t.Errorf("%s: %d, %s, %+v", c.id, rec.Code, view.Status, view.Links)
		}
	}
	if d := cmp.Diff([]string{"job-queued", "job-running"}, w.queue.canceled); d != "" {
		t.Errorf("attempts asked to stop: %s", d)
	}
}

func TestHistory(t *testing.T) {
	var jobs []export.Job
	for i := range 5 {
		job := jobIn(export.Succeeded)
		job.ID = fmt.Sprintf("j%d", i)
		job.Receipt.Losses.Add(sheet.Loss{Kind: sheet.Cut, Sheet: 1, Row: 2})
		jobs = append(jobs, job)
	}
	strangers := jobIn(export.Succeeded)
	strangers.ID, strangers.RequestedBy = "j9", "somebody else"
	w := newWorld(t, withJobs(append(jobs, strangers)...))
	page := func(target string) (ids []string, link string) {
		t.Helper()
		rec := w.call("GET", target, "")
		for _, v := range decode[[]gateway.JobView](t, rec.Body) {
			ids = append(ids, v.ID)
			if len(v.Receipt.Losses.Places) != 0 || v.Receipt.Losses.Counts[sheet.Cut] != 1 {
				t.Errorf("losses in the history: %+v", v.Receipt.Losses)
			}
		}
		return ids, rec.Header().Get("Link")
	}
	ids, link := page(exportsPath + "?limit=3&status=succeeded")
	if d := cmp.Diff([]string{"j4", "j3", "j2"}, ids); d != "" {
		t.Error(d)
	}
	if link != `</api/v1/exports?before=j2&limit=3&status=succeeded>; rel="next"` {
		t.Fatalf("Link %q", link)
	}
	ids, link = page(strings.TrimPrefix(strings.Split(link, ">")[0], "<"))
	if d := cmp.Diff([]string{"j1", "j0"}, ids); d != "" || link != "" {
		t.Errorf("second page: %s, Link %q", d, link)
	}
	if stored, _ := w.jobs.Get(t.Context(), "j0"); len(stored.Receipt.Losses.Places) != 1 {
		t.Error("the history took the places from the job itself")
	}
	if rec := newWorld(t, nil).call("GET", exportsPath, ""); strings.TrimSpace(rec.Body.String()) != "[]" {
		t.Errorf("an empty history is %s", rec.Body)
	}
	for _, wrong := range []string{"limit=0", "limit=201", "limit=x", "status=done"} {
		wantProblem(t, w.call("GET", exportsPath+"?"+wrong, ""), 400, "invalid")
	}
}
