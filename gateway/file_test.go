package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/gateway"
)

var (
	fileBytes  = bytes.Repeat([]byte("0123456789abcdef"), 100_000) // 1.6 MB: several reads ahead
	fileHash   = sha256.Sum256(fileBytes)
	fileSHA256 = hex.EncodeToString(fileHash[:])
)

const filePath = "/api/v1/exports/job-succeeded/file"

func TestDownload(t *testing.T) {
	w := newWorld(t, withJobs(jobIn(export.Succeeded)))
	for _, method := range []string{"GET", "HEAD"} {
		rec := w.call(method, filePath, "", "Accept-Encoding", "gzip")
		got := map[string]string{}
		want := map[string]string{
			"Content-Type":           "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			"Content-Length":         "1600000",
			"Content-Disposition":    `attachment; filename="reservations_2026-11.xlsx"; filename*=UTF-8''%EC%98%88%EC%95%BD%EB%AA%A9%EB%A1%9D_2026-11.xlsx`,
			"Content-Encoding":       "",
			"ETag":                   `"` + fileSHA256 + `"`,
			"Accept-Ranges":          "bytes",
			"Repr-Digest":            "sha-256=:" + base64.StdEncoding.EncodeToString(fileHash[:]) + ":",
			"Cache-Control":          "private, no-store, no-transform",
			"X-Content-Type-Options": "nosniff",
		}
		for name := range want {
			got[name] = rec.Header().Get(name)
		}
		if d := cmp.Diff(want, got); rec.Code != 200 || d != "" {
			t.Errorf("%s: %d %s", method, rec.Code, d)
		}
		body := fileBytes
		if method == "HEAD" {
			body = nil
		}
		if !bytes.Equal(rec.Body.Bytes(), body) {
			t.Errorf("%s: body of %d bytes is not the file's", method, rec.Body.Len())
		}
	}
	if w.files.open != 0 {
		t.Errorf("%d readers were not closed", w.files.open)
	}
}

func TestDownloadOfParts(t *testing.T) {
	w := newWorld(t, withJobs(jobIn(export.Succeeded)))
	etag := `"` + fileSHA256 + `"`
	for _, c := range []struct {
		name         string
		header       []string
		status       int
		contentRange string
		body         []byte
	}{
		{"the middle", []string{"Range", "bytes=600000-600003"}, 206, "bytes 600000-600003/1600000", fileBytes[600000:600004]},
		{"the rest", []string{"Range", "bytes=1599990-"}, 206, "bytes 1599990-1599999/1600000", fileBytes[1599990:]},
		{"the last bytes", []string{"Range", "bytes=-2"}, 206, "bytes 1599998-1599999/1600000", []byte("ef")},
		{"past the end", []string{"Range", "bytes=1600000-"}, 416, "bytes */1600000", nil},
		{"if it is the same file", []string{"Range", "bytes=0-0", "If-Range", etag}, 206, "bytes 0-0/1600000", []byte("0")},
		{"of another file: the whole of this", []string{"Range", "bytes=0-0", "If-Range", `"other"`}, 200, "", fileBytes},
		{"of a file known by its date only: the whole", []string{"Range", "bytes=0-0", "If-Range", today.Format(http.TimeFormat)}, 200, "", fileBytes},
		{"the client has it", []string{"If-None-Match", etag}, 304, "", nil},
		{"the client wants another", []string{"If-Match", `"other"`}, 412, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := w.call("GET", filePath, "", c.header...)
			if rec.Code != c.status || rec.Header().Get("Content-Range") != c.contentRange {
				t.Errorf("%d, Content-Range %q", rec.Code, rec.Header().Get("Content-Range"))
			}
			if c.status < 400 && !bytes.Equal(rec.Body.Bytes(), c.body) {
				t.Errorf("body of %d bytes, want %d", rec.Body.Len(), len(c.body))
			}
		})
	}
}

func TestNoFileButOfASuccess(t *testing.T) {
	over := jobIn(export.Succeeded)
	over.ID, over.ExpiresAt = "job-over", today
	strangers := jobIn(export.Succeeded)
	strangers.ID, strangers.RequestedBy = "job-strangers", "somebody else"
	missing := jobIn(export.Succeeded)
	missing.ID, missing.File = "job-missing", &export.File{Key: "gone", SHA256: fileSHA256, Size: 1}
	wrongSize := jobIn(export.Succeeded)
	wrongSize.ID, wrongSize.File = "job-wrong-size", &export.File{Key: "k", SHA256: fileSHA256, Size: 1}
	w := newWorld(t, withJobs(jobIn(export.Queued), jobIn(export.Running), jobIn(export.Failed), jobIn(export.Canceled),
		jobIn(export.Expired), over, strangers, missing, wrongSize))
	for _, c := range []struct {
		id     string
		status int
		kind   string
	}{
		{"job-queued", 409, "conflict"},
		{"job-running", 409, "conflict"},
		{"job-failed", 409, "conflict"},
		{"job-canceled", 409, "conflict"},
		{"job-expired", 410, "gone"},
		{"job-over", 410, "gone"},
		{"job-missing", 410, "gone"},
		{"job-wrong-size", 500, "internal"},
		{"job-strangers", 404, "not-found"},
		{"job-unknown", 404, "not-found"},
	} {
		t.Run(c.id, func(t *testing.T) {
			wantProblem(t, w.call("GET", "/api/v1/exports/"+c.id+"/file", ""), c.status, c.kind)
		})
	}
	if w.files.open != 0 {
		t.Errorf("%d readers were not closed", w.files.open)
	}
}

func TestABrokenDownloadIsSeenByTheClientAndLogged(t *testing.T) {
	w := newWorld(t, withJobs(jobIn(export.Succeeded)))
	w.files.err = errBroken
	server := httptest.NewServer(w)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+filePath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := server.Client().Do(req)
	if err == nil {
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err == nil {
		t.Error("the client took a broken file for a whole one")
	}
	if !strings.Contains(w.log.String(), "download broken off") {
		t.Error("the failure is not in the log")
	}
}

func TestACSVIsServedAsOne(t *testing.T) {
	job := jobIn(export.Succeeded)
	job.Request.Format, job.Request.FileName = "csv", "plain name.csv"
	rec := newWorld(t, withJobs(job)).call("GET", filePath, "")
	got := []string{rec.Header().Get("Content-Type"), rec.Header().Get("Content-Disposition")}
	want := []string{"text/csv; charset=utf-8", `attachment; filename="plain name.csv"; filename*=UTF-8''plain%20name.csv`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFileNames(t *testing.T) {
	long := strings.Repeat("가", 100)
	for _, c := range []struct{ name, body, want string }{
		{"default", `{}`, "reservations_2026-11-30.xlsx"},
		{"default in Korean, the day being Seoul's", `{"language":"ko","time_zone":"Asia/Seoul","format":"csv"}`, "예약목록_2026-12-01.csv"},
		{"as asked", `{"file_name":"예약목록_2026-11.xlsx"}`, "예약목록_2026-11.xlsx"},
		{"extension given", `{"file_name":"a.b"}`, "a.b.xlsx"},
		{"extension put right", `{"file_name":"a.XLSX","format":"csv"}`, "a.csv"},
		{"path", `{"file_name":"../../etc/passwd"}`, "_.._etc_passwd.xlsx"},
		{"Windows path", `{"file_name":"C:\\x\\y"}`, "C__x_y.xlsx"},
		{"control characters", `{"file_name":"a\r\nb\u0000c"}`, "abc.xlsx"},
		{"right-to-left override", `{"file_name":"a\u202excod.exe"}`, "axcod.exe.xlsx"},
		{"header injection", `{"file_name":"a\"; filename=\"b"}`, "a_; filename=_b.xlsx"},
		{"device", `{"file_name":"con"}`, "_con.xlsx"},
		{"nothing left", `{"file_name":" .. "}`, "reservations_2026-11-30.xlsx"},
		{"decomposed Hangul", `{"file_name":"\u1100\u1161"}`, "가.xlsx"},
		{"too long", `{"file_name":"` + long + `"}`, strings.Repeat("가", 48) + ".xlsx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := newWorld(t, nil).call("POST", "/api/v1/exports", c.body)
			view := decode[gateway.JobView](t, rec.Body)
			if got := view.Request.FileName; got != c.want || len(got) > 150 {
				t.Errorf("got %q (%d bytes), want %q", got, len(got), c.want)
			}
		})
	}
}

func TestPercentIsFullExactlyWhenTheFileCanBeTaken(t *testing.T) {
	over := jobIn(export.Succeeded)
	over.ID, over.ExpiresAt = "job-over", today.Add(-time.Second)
	jobs := []export.Job{jobIn(export.Queued), jobIn(export.Running), jobIn(export.Succeeded), jobIn(export.Failed), jobIn(export.Canceled), jobIn(export.Expired), over}
	w := newWorld(t, withJobs(jobs...))
	for _, job := range jobs {
		view := decode[gateway.JobView](t, w.call("GET", "/api/v1/exports/"+job.ID, "").Body)
		file := w.call("HEAD", "/api/v1/exports/"+job.ID+"/file", "")
		if (view.Percent == 100) != (file.Code == 200) || (view.Links.File != "") != (file.Code == 200) {
			t.Errorf("%s: %d %%, link %q, yet the file answers %d", job.ID, view.Percent, view.Links.File, file.Code)
		}
		if job.Status == export.Running && view.Percent != 99 {
			t.Errorf("all rows written and not published: %d %%", view.Percent)
		}
	}
}
