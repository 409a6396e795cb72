package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/exportclient"
	"rowmill/signin"
)

func takersOf(t *testing.T, a *app, id string) (takings []gateway.TakingView) {
	t.Helper()
	got := call(t, a, "GET", "/api/v1/audit/reservations/"+id, "")
	if err := json.Unmarshal(got.body, &takings); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d, %v: %s", got.status, err, got.body)
	}
	return takings
}

// Who took reservation 150 out? The one whose file has it, who read it, and when.
func TestWhoTookAReservationOutIsKnownAndWhoDidNot(t *testing.T) {
	a, c := boot(t, 300, nil)
	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv", Columns: []string{"id", "code"},
		Filter: map[string][]string{"id_gte": {"101"}, "id_lte": {"200"}}}, "audited")
	if err != nil {
		t.Fatal(err)
	}
	if job = awaitJob(t, c, job.ID, ended); job.Status != export.Succeeded || job.RowsWritten != 100 {
		t.Fatalf("the job is %s with %d rows: %+v", job.Status, job.RowsWritten, job.Failure)
	}
	if before := takersOf(t, a, "150"); len(before) != 1 || before[0].DownloadCount != 0 {
		t.Errorf("before anybody read the file: %+v", before)
	}
	rows := download(t, c, job)
	inFile := func(id string) bool {
		return slices.ContainsFunc(rows, func(r []string) bool { return r[0] == id })
	}
	for _, id := range []string{"1", "100", "101", "150", "200", "201", "300", "999999999"} {
		takings := takersOf(t, a, id)
		if (len(takings) == 1) != inFile(id) {
			t.Errorf("reservation %s is in the file: %t, yet its takers are %+v", id, inFile(id), takings)
		}
	}
	taking := takersOf(t, a, "150")[0]
	if taking.JobID != job.ID || taking.By != signin.Subject || taking.SHA256 != job.Receipt.SHA256 || taking.Rows != 100 || taking.DownloadCount != 1 {
		t.Errorf("the taking is %+v", taking)
	}
	if d := taking.Downloads[0]; d.Action != audit.Download || d.Actor != signin.Subject || d.Address != "127.0.0.1" || d.Bytes != job.Receipt.Bytes {
		t.Errorf("the download is %+v", d)
	}
	auditTells(t, a, job.ID)
}

// auditTells checks what the audit says of the job, and that it says who read it.
func auditTells(t *testing.T, a *app, job string) {
	t.Helper()
	var events []gateway.EventView
	if err := json.Unmarshal(call(t, a, "GET", "/api/v1/audit?job="+job, "").body, &events); err != nil {
		t.Fatal(err)
	}
	var actions []audit.Action
	for _, e := range events {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]audit.Action{audit.Download, audit.Create}, actions); diff != "" {
		t.Errorf("of the job (-want +got):\n%s", diff)
	}
	if created := events[len(events)-1]; created.Rows != 100 || created.Filter["id_gte"][0] != "101" || created.Sort == "" {
		t.Errorf("the order is %+v", created)
	}
	file := string(call(t, a, "GET", "/api/v1/audit.csv?action=audit.read", "").body)
	if lines := strings.Count(file, "\r\n"); !strings.HasPrefix(file, "\ufeff\"id\",\"at\"") || lines != 1+10+1 { // 10 questions, 1 list
		t.Errorf("%d lines in:\n%s", lines, file)
	}
}
