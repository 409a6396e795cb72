package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rowmill/access"
	"rowmill/export"
	"rowmill/gateway"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
	"rowmill/internal/testoidc"
	"rowmill/signin"
)

// revoked takes every permission from the tests' user, as an operator does.
func revoked(t *testing.T, dsn string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"revoke", "--mysql-dsn", dsn, signin.Subject}, streams{&out, &errs}); code != 0 {
		t.Fatalf("revoke exits with %d: %s", code, errs.String())
	}
	return out.String()
}

func permissionLost(t *testing.T, job exportclient.Job) {
	t.Helper()
	if job.Status != export.Canceled || job.Failure == nil || job.Failure.Code != "permission-lost" || job.Failure.Message == "" {
		t.Errorf("the job is %s: %+v", job.Status, job.Failure)
	}
}

func TestOfManyOrdersAtOnceAUserHasFive(t *testing.T) {
	a, c := boot(t, 10, func(cfg *config.Config) {
		noWorker(cfg)
		cfg.MaxUserJobs = 5
	})
	const orders = 20
	got, errs := make([]answer, orders), make([]error, orders)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range orders {
		wg.Go(func() {
			<-start
			got[i], errs[i] = ask(t.Context(), a, "POST", "/api/v1/exports", fmt.Sprintf(`{"filter":{"nights_gte":["%d"]}}`, i))
		})
	}
	close(start)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for _, g := range got {
		switch g.status {
		case http.StatusAccepted:
			accepted = append(accepted, g.header.Get("Location"))
		case http.StatusTooManyRequests:
			if g.header.Get("Retry-After") == "" || !bytes.Contains(g.body, []byte("urn:rowmill:problem:too-many-requests")) {
				t.Errorf("refused without saying when to come back: %s", g.body)
			}
		default:
			t.Errorf("%d %s", g.status, g.body)
		}
	}
	if n := count(t, a, "SELECT COUNT(*) FROM export_jobs"); n != 5 || len(accepted) != 5 {
		t.Fatalf("%d orders were accepted, %d jobs made", len(accepted), n)
	}
	sixth := `{"filter":{"nights_gte":["99"]}}`
	if got := call(t, a, "POST", "/api/v1/exports", sixth); got.status != http.StatusTooManyRequests {
		t.Errorf("the sixth: %d", got.status)
	}
	if got := call(t, a, "DELETE", accepted[0], ""); got.status != http.StatusOK {
		t.Fatalf("cancel: %d", got.status)
	}
	if got := call(t, a, "POST", "/api/v1/exports", sixth); got.status != http.StatusAccepted {
		t.Errorf("the sixth, after one has ended: %d %s", got.status, got.body)
	}
	if list, err := c.Get(t.Context(), filepath.Base(accepted[1])); err != nil || list.Status != export.Queued {
		t.Errorf("another of them is %s, %v", list.Status, err)
	}
}

func TestAFullServiceTakesNoOrderButThoseThatAreThere(t *testing.T) {
	a, _ := boot(t, 10, func(cfg *config.Config) {
		noWorker(cfg)
		cfg.QueuedJobs, cfg.QueuedRows = 20, 25 // two exports of ten rows
	})
	order := func(i int) answer {
		return call(t, a, "POST", "/api/v1/exports", fmt.Sprintf(`{"file_name":"%d.xlsx"}`, i))
	}
	first := order(0)
	if second := order(1); first.status != http.StatusAccepted || second.status != http.StatusAccepted {
		t.Fatalf("%d, %d", first.status, second.status)
	}
	full := order(2)
	if full.status != http.StatusServiceUnavailable || full.header.Get("Retry-After") == "" || !bytes.Contains(full.body, []byte("urn:rowmill:problem:queue-full")) {
		t.Errorf("the third: %d %s", full.status, full.body)
	}
	if again := order(0); again.status != http.StatusAccepted || again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("the first again: %d %s", again.status, again.body)
	}
	if got := call(t, a, "DELETE", first.header.Get("Location"), ""); got.status != http.StatusOK {
		t.Fatalf("cancel: %d", got.status)
	}
	until(t, "there is room", func() bool { return order(2).status == http.StatusAccepted })
}

func TestAPermissionLostEndsQueuedAndRunningJobs(t *testing.T) {
	b := newBetween(t, noPage, 1<<40)
	a, c := boot(t, 60, func(cfg *config.Config) { cfg.ReservationsURL, cfg.SharedSlots, cfg.SmallSlots = b.URL, 1, 1 })
	b.aim(t, a)
	var ids []string
	for i := range 3 { // two run, for there are two slots, and read a page that never comes
		job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv", FileName: fmt.Sprintf("%d.csv", i)}, fmt.Sprint("lost-", i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	fetches := func(j exportclient.Job) bool { return j.Status == export.Running && j.Phase == export.PhaseFetch }
	awaitJob(t, c, ids[0], fetches)
	awaitJob(t, c, ids[1], fetches)
	if said := revoked(t, a.cfg.MySQLDSN); !strings.Contains(said, "exports ended: 3") {
		t.Errorf("said %q", said)
	}
	for _, id := range ids {
		permissionLost(t, awaitJob(t, c, id, ended))
		auditTellsOfLoss(t, a.cfg.MySQLDSN, id)
	}
	awaitFiles(t, filepath.Join(a.cfg.DataDir, "files"), nil)
	if n := count(t, a, "SELECT COUNT(*) FROM audit_events WHERE action = 'export.revoke' AND actor = 'system'"); n != 3 {
		t.Errorf("the audit has %d ended jobs", n)
	}
}

// The caller does not come back, and no gateway tells: the worker itself asks.
func TestAWorkerRunsNoJobWhoseOwnerMayNoLongerHaveIt(t *testing.T) {
	h := newHouse(t)
	h.serve(t)
	id := submit(t, h, "waits")
	db, err := sql.Open("mysql", h.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its statement has been answered
	done, err := db.ExecContext(t.Context(), "UPDATE grants SET permissions = '[\"reservations:read\"]' WHERE subject = ?", signin.Subject)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d grants were kept, %v", n, err)
	}
	h.worker(t)
	job := awaitJob(t, h.client(), id, ended)
	permissionLost(t, job)
	if job.RowsWritten != 0 || job.Receipt != nil || len(filesOf(t, h, id)) != 0 {
		t.Errorf("the job ran: %+v", job)
	}
	auditTellsOfLoss(t, h.dsn, id)
}

// auditTellsOfLoss asks whether it is kept, once and as the system's doing, that
// the job ended for want of a permission.
func auditTellsOfLoss(t *testing.T, dsn, id string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its query has been answered
	var n int
	err = db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM audit_events WHERE action = 'export.revoke' AND job_id = ? AND actor = ?", id, access.System).Scan(&n)
	if err != nil || n != 1 {
		t.Errorf("the audit has %d events of the end of job %s, %v", n, id, err)
	}
}

func TestASignedLinkIsTheFileAndNothingElse(t *testing.T) {
	a, c := boot(t, 60, nil)
	job, err := c.Submit(t.Context(), exportclient.Order{Format: "csv"}, "linked")
	if err != nil {
		t.Fatal(err)
	}
	if job = awaitJob(t, c, job.ID, ended); job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	made := call(t, a, "POST", "/api/v1/exports/"+job.ID+"/link", "")
	var link gateway.LinkView
	if err := json.Unmarshal(made.body, &link); err != nil || made.status != http.StatusCreated {
		t.Fatalf("%d %s, %v", made.status, made.body, err)
	}
	if left := time.Until(link.ExpiresAt); left <= 0 || left > 10*time.Minute {
		t.Errorf("it expires at %v", link.ExpiresAt)
	}
	want := call(t, a, "GET", "/api/v1/exports/"+job.ID+"/file", "").body
	status, body := stranger(t, a, link.URL)
	if status != http.StatusOK || !bytes.Equal(body, want) || int64(len(body)) != job.Receipt.Bytes {
		t.Errorf("the link gives %d with %d bytes of %d", status, len(body), job.Receipt.Bytes)
	}
	last := link.URL[len(link.URL)-2:]
	altered := strings.TrimSuffix(link.URL, last) + strings.Map(func(r rune) rune { return map[bool]rune{true: 'B', false: 'A'}[r == 'A'] }, last)
	if status, _ := stranger(t, a, altered); status != http.StatusNotFound {
		t.Errorf("altered: %d", status)
	}
	if status, _ := stranger(t, a, "/api/v1/exports/"+job.ID+"/file"); status != http.StatusUnauthorized {
		t.Errorf("the file itself, without identity: %d", status)
	}
	revoked(t, a.cfg.MySQLDSN)
	if status, _ := stranger(t, a, link.URL); status != http.StatusForbidden {
		t.Errorf("its owner having lost the permission: %d", status)
	}
	inSQL(t, a, "UPDATE export_jobs SET expires_at = ?", time.Now().UTC().Add(-time.Second))
	if status, _ := stranger(t, a, link.URL); status != http.StatusGone {
		t.Errorf("its file having expired: %d", status)
	}
}

// stranger gets an address without any identity.
func stranger(t *testing.T, a *app, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, a.gateway.url()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func TestTheKeyOfLinksFollowsTheSecret(t *testing.T) {
	key := func(token string, sessionKeys ...string) []byte {
		a := &app{cfg: &config.Config{Token: token, Identity: config.Identity{SessionKeys: sessionKeys}}}
		return a.linkKey()
	}
	one, same, other := key("a secret of the gateways"), key("", "a secret of the gateways", "an old one"), key("a secret of the gateways", "another secret")
	if !bytes.Equal(one, same) || bytes.Equal(one, other) || len(one) != 32 || key("") != nil {
		t.Errorf("%d bytes", len(one))
	}
}

// Somebody comes back with less than they had: what needed more ends at once.
func TestALesserTokenEndsTheJobsThatNeededMore(t *testing.T) {
	issuer := testoidc.Start(t)
	a, _ := boot(t, 10, func(cfg *config.Config) {
		noWorker(cfg)
		cfg.Issuer, cfg.ClientID, cfg.ClientSecret, cfg.Audience = issuer.URL(), issuer.ClientID, issuer.ClientSecret, "api"
		cfg.BaseURL, cfg.SessionKeys = "https://rowmill.example", []string{"a secret of the session cookies for tests"}
	})
	as := func(role, method, path, body string) int {
		t.Helper()
		token := issuer.Token(t, map[string]any{"iss": issuer.URL(), "aud": "api", "sub": "kim", "roles": role, "exp": time.Now().Add(time.Hour).Unix()})
		return statusAs(t, a, token, method, path, body)
	}
	const list = "/api/v1/reservations?_end=1"
	orders := []string{
		`{"columns":["id"]}`,
		`{"columns":["id","guest_name"],"personal":true,"reason":"a complaint"}`,
	}
	for _, order := range orders {
		if got := as("manager", "POST", "/api/v1/exports", order); got != http.StatusAccepted {
			t.Fatalf("%s: %d", order, got)
		}
	}
	const lost = "SELECT COUNT(*) FROM export_jobs WHERE status = 'canceled' AND failure LIKE '%permission-lost%'"
	const told = "SELECT COUNT(*) FROM audit_events WHERE action = 'export.revoke'"
	for _, step := range []struct {
		role string
		want int64
	}{{"manager", 0}, {"operator", 1}, {"viewer", 2}} {
		if got := as(step.role, "GET", list, ""); got != http.StatusOK {
			t.Errorf("the list as %s: %d", step.role, got)
		}
		if jobs, events := count(t, a, lost), count(t, a, told); jobs != step.want || events != step.want {
			t.Errorf("as %s: %d jobs ended, the audit has %d, want %d", step.role, jobs, events, step.want)
		}
	}
	if got := as("operator", "POST", "/api/v1/exports", orders[0]); got != http.StatusAccepted {
		t.Errorf("an order with the permission back: %d", got)
	}
}

// statusAs calls the gateway with a token and gives the answer's status.
func statusAs(t *testing.T, a *app, token, method, path, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.gateway.url()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}
