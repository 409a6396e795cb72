package exportclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

var content = bytes.Repeat([]byte("0123456789abcdef"), 100_000)

func jobWith(content []byte) Job {
	sum := sha256.Sum256(content)
	return Job{ID: "j", Status: export.Succeeded, Receipt: &export.Receipt{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}}
}

// cutting serves a file as the gateway does, and cuts a connection after some bytes.
type cutting struct {
	t       *testing.T
	content []byte
	etag    string
	after   int64         // bytes of a connection; 0: it is not cut
	cuts    int           // connections that are cut, from the first
	pause   time.Duration // that each connection lasts
	ranges  []string      // asked for so far
	deny    map[int]int   // connection, from 0: the status it is answered with
}

func newCutting(t *testing.T, content []byte) *cutting {
	return &cutting{t: t, content: content, etag: `"` + jobWith(content).Receipt.SHA256 + `"`}
}

func (s *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.URL.Path != "/api/v1/exports/j/file" || r.Header.Get("Authorization") != "Bearer the-token" {
		s.t.Errorf("%s %s by %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}
	n := len(s.ranges)
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	time.Sleep(s.pause) // of synctest's clock, where it is not 0
	rec := httptest.NewRecorder()
	if status := s.deny[n]; status != 0 {
		rec.WriteHeader(status)
		return rec.Result(), nil
	}
	rec.Header().Set("ETag", s.etag)
	http.ServeContent(rec, r, "", time.Time{}, bytes.NewReader(s.content))
	resp := rec.Result()
	if n < s.cuts {
		resp.Body = io.NopCloser(io.MultiReader(io.LimitReader(resp.Body, s.after), broken{}))
	}
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (s *cutting) client() *Client {
	c := New("http://gateway", "the-token")
	c.http = &http.Client{Transport: s}
	return c
}

// holds fails if path is not the content, for its owner alone, with nothing beside it.
func holds(t *testing.T, path string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("the file has %d bytes of %d, or others; %v", len(got), len(content), err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v", info.Mode())
	}
	if names := names(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the directory holds %v", names)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestABrokenDownloadGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCutting(t, content)
		s.after, s.cuts = 600_000, 2
		path := filepath.Join(t.TempDir(), "out.xlsx")
		if err := s.client().Download(t.Context(), jobWith(content), path); err != nil {
			t.Fatal(err)
		}
		holds(t, path, content)
		if diff := cmp.Diff([]string{"bytes=0-", "bytes=600000-", "bytes=1200000-"}, s.ranges); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	})
}

// An hour of a line that breaks every four minutes is no reason to give up.
func TestALongDownloadMayBreakOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCutting(t, content)
		s.after, s.cuts, s.pause = 100_000, 15, 4*time.Minute
		path := filepath.Join(t.TempDir(), "out.xlsx")
		if err := s.client().Download(t.Context(), jobWith(content), path); err != nil {
			t.Fatal(err)
		}
		holds(t, path, content)
	})
}

func TestADownloadThatGetsNoFurtherGivesUpAndIsTakenUpByTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCutting(t, content)
		s.after, s.cuts = 600_000, 1
		s.deny = map[int]int{}
		for i := 1; i < 1000; i++ {
			s.deny[i] = http.StatusServiceUnavailable
		}
		path := filepath.Join(t.TempDir(), "out.xlsx")
		began := time.Now()
		err := s.client().Download(t.Context(), jobWith(content), path)
		var p *Problem
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || time.Since(began) > 6*time.Minute {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("half a file is in place: %v", err)
		}
		again := newCutting(t, content)
		if err := again.client().Download(t.Context(), jobWith(content), path); err != nil {
			t.Fatal(err)
		}
		holds(t, path, content)
		if diff := cmp.Diff([]string{"bytes=600000-"}, again.ranges); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	})
}

// A gateway whose file is another, or that knows no ranges, sends the whole.
func TestAFileThatIsAnotherIsBegunAnew(t *testing.T) {
	s := newCutting(t, content)
	path := filepath.Join(t.TempDir(), "out.xlsx")
	part := filepath.Join(filepath.Dir(path), ".out.xlsx.j.part")
	if err := os.WriteFile(part, bytes.Repeat([]byte("x"), 700), 0o600); err != nil {
		t.Fatal(err)
	}
	s.etag = `"another"`
	if err := s.client().Download(t.Context(), jobWith(content), path); err != nil {
		t.Fatal(err)
	}
	holds(t, path, content)
	if diff := cmp.Diff([]string{"bytes=700-"}, s.ranges); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotTheReceiptsFileIsRemoved(t *testing.T) {
	other := bytes.Clone(content)
	other[len(other)/2] ^= 1
	for name, served := range map[string][]byte{"a byte is another": other, "too short": content[:1000], "too long": append(bytes.Clone(content), 'x'), "empty": {}} {
		s := newCutting(t, served)
		s.etag = `"` + jobWith(content).Receipt.SHA256 + `"`
		path := filepath.Join(t.TempDir(), "out.xlsx")
		err := s.client().Download(t.Context(), jobWith(content), path)
		if err == nil || !strings.Contains(err.Error(), "it was removed, ask again") {
			t.Errorf("%s: %v", name, err)
		}
		if left := names(t, filepath.Dir(path)); len(left) != 0 {
			t.Errorf("%s: left are %v", name, left)
		}
	}
}

func TestARefusedDownloadIsNotRepeated(t *testing.T) {
	for _, status := range []int{401, 404, 409, 410, 500} {
		s := newCutting(t, content)
		s.deny = map[int]int{0: status, 1: status}
		path := filepath.Join(t.TempDir(), "out.xlsx")
		err := s.client().Download(t.Context(), jobWith(content), path)
		var p *Problem
		if !errors.As(err, &p) || p.Status != status || len(s.ranges) != 1 {
			t.Errorf("%d: %v after %d calls", status, err, len(s.ranges))
		}
	}
	if err := New("http://gateway", "").Download(t.Context(), Job{ID: "j"}, filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "job j has no file") {
		t.Errorf("a job without a receipt: %v", err)
	}
}

// Linux gives a disk that is always full.
func TestAFullDiskIsNotTriedAgain(t *testing.T) {
	s := newCutting(t, content)
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := os.Symlink("/dev/full", filepath.Join(filepath.Dir(path), ".out.xlsx.j.part")); err != nil {
		t.Fatal(err)
	}
	err := s.client().Download(t.Context(), jobWith(content), path)
	if !errors.Is(err, syscall.ENOSPC) || len(s.ranges) != 1 {
		t.Errorf("%v after %d calls", err, len(s.ranges))
	}
}

// The same over a real network, whose broken connections look as they do.
func TestABrokenConnectionIsTakenUp(t *testing.T) {
	var ranges []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 1 {
			w.Header().Set("ETag", r.Header.Get("If-Range"))
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	c := New(srv.URL, "t")
	defer c.http.CloseIdleConnections()
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := c.Download(t.Context(), jobWith(content), path); err != nil {
		t.Fatal(err)
	}
	holds(t, path, content)
	var from int64
	if _, err := fmt.Sscanf(ranges[len(ranges)-1], "bytes=%d-", &from); err != nil || from == 0 || len(ranges) != 2 {
		t.Errorf("asked for %q, %v", ranges, err)
	}
}
