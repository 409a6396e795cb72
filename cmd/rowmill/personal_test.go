package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/exportclient"
	"rowmill/repository"
	"rowmill/signin"
)

// aGuest makes reservation 1 the guest's that the tests look for.
func aGuest(t *testing.T, a *app) (secrets []string) {
	t.Helper()
	inSQL(t, a, "UPDATE guests SET name = '황보은결', phone = '010-9876-5432', email = 'eungyeol@mail.example.kr' WHERE reservation_id = 1")
	inSQL(t, a, "UPDATE reservations SET memo = 'asks for a cot' WHERE id = 1")
	return []string{"황보은결", "010-9876-5432", "eungyeol@mail.example.kr", "asks for a cot"}
}

var masks = []string{"황**", "010-****-**32", "e***@***.kr"}

// holdsAll fails unless text has all of one and none of the other.
func holdsAll(t *testing.T, what, text string, all, none []string) {
	t.Helper()
	for _, part := range all {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q: %.1500s", what, part, text)
		}
	}
	for _, part := range none {
		if strings.Contains(text, part) {
			t.Errorf("%s has %q: %.1500s", what, part, text)
		}
	}
}

// Personal data are masked in the list, in a row and in a file, unless they are
// asked for; a file gives them for a reason only.
func TestPersonalDataAreMaskedUnlessAskedFor(t *testing.T) {
	a, c := boot(t, 20, nil)
	secrets := aGuest(t, a)
	for _, path := range []string{"?_start=0&_end=5&_fields=guest_name,guest_phone,guest_email,memo", "/1?_fields=guest_name,guest_phone,guest_email,memo"} {
		holdsAll(t, path, string(call(t, a, "GET", "/api/v1/reservations"+path, "").body), masks, secrets)
		holdsAll(t, path+" in the clear", string(call(t, a, "GET", "/api/v1/reservations"+path+"&personal=true", "").body), secrets, masks)
	}
	for _, format := range []string{"csv", "xlsx"} {
		order := exportclient.Order{Format: format, Language: "en", Columns: []string{"id", "guest_name", "guest_phone", "guest_email", "memo"}}
		holdsAll(t, format, fileText(t, c, order), masks, secrets)
		order.Personal, order.Reason = true, "the guest asked for a copy"
		holdsAll(t, format+" in the clear", fileText(t, c, order), secrets, masks)
	}
	refused := call(t, a, "POST", "/api/v1/exports", `{"personal":true}`)
	if refused.status != http.StatusBadRequest || !strings.Contains(string(refused.body), "body.reason") {
		t.Errorf("without a reason: %d %s", refused.status, refused.body)
	}
	if reasons := count(t, a, `SELECT COUNT(*) FROM export_jobs WHERE request LIKE '%"reason":"the guest asked for a copy"%' AND scope LIKE '%"personal":true%'`); reasons != 2 {
		t.Errorf("%d jobs are kept with their reason", reasons)
	}
}

// fileText gives the file of the order, as text: a workbook's parts one after another.
func fileText(t *testing.T, c *exportclient.Client, o exportclient.Order) string {
	t.Helper()
	job, err := c.Submit(t.Context(), o, fmt.Sprint(o.Format, o.Personal))
	if err != nil {
		t.Fatal(err)
	}
	if job = awaitJob(t, c, job.ID, ended); job.Status != export.Succeeded || job.Personal != o.Personal {
		t.Fatalf("the job is %s, personal %t: %+v", job.Status, job.Personal, job.Failure)
	}
	path := filepath.Join(t.TempDir(), "out."+o.Format)
	if err := c.Download(t.Context(), job, path); err != nil {
		t.Fatal(err)
	}
	if o.Format == "xlsx" {
		return workbookText(t, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// What is masked cannot be found by asking for it either.
func TestWhatIsMaskedCannotBeAskedFor(t *testing.T) {
	a, _ := boot(t, 20, noWorker)
	aGuest(t, a)
	for _, filter := range []string{"guest_name=황보은결", "guest_name_like=황", "guest_phone_ne=1", "guest_email_null=false", "memo_null=true"} {
		list := "/api/v1/reservations?_start=0&_end=5&_fields=id&" + filter
		field, _, _ := strings.Cut(filter, "=")
		refused := call(t, a, "GET", list, "")
		if refused.status != http.StatusForbidden || !strings.Contains(string(refused.body), "pii:read is needed to filter by ") {
			t.Errorf("%s: %d %s", filter, refused.status, refused.body)
		}
		if got := call(t, a, "GET", list+"&personal=true", ""); got.status != http.StatusOK {
			t.Errorf("%s in the clear: %d %s", filter, got.status, got.body)
		}
		order := fmt.Sprintf(`{"columns":["id"],"filter":{%q:["%s"]}`, field, strings.TrimPrefix(filter, field+"="))
		if got := call(t, a, "POST", "/api/v1/exports", order+"}"); got.status != http.StatusForbidden {
			t.Errorf("an order by %s: %d %s", filter, got.status, got.body)
		}
		if got := call(t, a, "POST", "/api/v1/exports", order+`,"personal":true}`); got.status != http.StatusAccepted {
			t.Errorf("an order by %s in the clear: %d %s", filter, got.status, got.body)
		}
	}
	for query, want := range map[string]int{"q=황보": 0, "q=황보&personal=true": 1} {
		var rows []json.RawMessage
		got := call(t, a, "GET", "/api/v1/reservations?_start=0&_end=5&"+query, "")
		if err := json.Unmarshal(got.body, &rows); err != nil || len(rows) != want || got.header.Get("X-Total-Count") != fmt.Sprint(want) {
			t.Errorf("%s finds %d rows of %s: %v", query, len(rows), got.header.Get("X-Total-Count"), err)
		}
	}
}

func TestTheExportCommandAsksForPersonalDataWithAReason(t *testing.T) {
	a, _ := boot(t, 20, nil)
	secrets := aGuest(t, a)
	path := filepath.Join(t.TempDir(), "out.csv")
	args := []string{"export", "--gateway=" + a.gateway.url(), "--token=" + testToken, "--format=csv", "--out=" + path}
	read := func() string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	rowmill(t.Context(), t, 0, args...)
	holdsAll(t, "the file", read(), masks, secrets)
	rowmill(t.Context(), t, 0, append(args, "--personal", "--reason=the guest asked")...)
	holdsAll(t, "the file in the clear", read(), secrets, masks)
	_, err := rowmill(t.Context(), t, 1, append(args, "--personal")...)
	has(t, "the error", err, "body.reason")
}

// A job sees the properties that its requester was let see, whatever it asks.
func TestAFileHasTheRowsOfItsScopeAlone(t *testing.T) {
	a, c := boot(t, 300, nil)
	inSQL(t, a, "UPDATE reservations SET property_id = 1 + id % 2")
	want := map[string]string{"[1]": "150", "[2,1]": "300", "[]": "0"}
	for properties, rows := range want {
		scope := access.Scope{}
		if err := json.Unmarshal([]byte(properties), &scope.Properties); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		job := export.Job{ID: "scoped-" + rows, RequestedBy: signin.Subject, Scope: scope, Queue: export.QueueSmall, Status: export.Queued, CreatedAt: now, RunAt: now,
			Request: export.Request{Dataset: "reservations", Format: "csv", Columns: []string{"property_id"}, Sort: "check_in", Language: "en", TimeZone: "UTC", FileName: "x.csv"}}
		if _, _, err := repository.NewJobs(a.db).Insert(t.Context(), job, ""); err != nil {
			t.Fatal(err)
		}
		done := awaitJob(t, c, job.ID, ended) // the sweeper brings it to a worker
		if done.Status != export.Succeeded || fmt.Sprint(done.Receipt.Written) != rows {
			t.Fatalf("%s: the job is %s: %+v %+v", properties, done.Status, done.Failure, done.Receipt)
		}
		for _, record := range download(t, c, done) {
			if !strings.Contains(properties, record[0]) {
				t.Fatalf("%s: a row of property %s", properties, record[0])
			}
		}
	}
}

// workbookText gives the text of a workbook's parts.
func workbookText(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }() // only read
	var text strings.Builder
	for _, part := range z.File {
		f, err := z.Open(part.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}
