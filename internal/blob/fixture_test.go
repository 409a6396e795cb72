package blob_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"rowmill/export"
	"rowmill/internal/blob"
)

var _ export.Files = (*blob.Store)(nil)

// fixture is a store and a look behind it.
type fixture struct {
	*blob.Store
	// residue gives all that the store's place holds, unfinished files too.
	residue func(t *testing.T) []string
	// crash leaves what a writer of the key leaves that is killed.
	crash func(t *testing.T, key string)
	dir   string // of a directory store
}

// eachStore runs a test against every kind of store, each new and empty.
func eachStore(t *testing.T, test func(t *testing.T, s fixture)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) { test(t, newDirectory(t)) })
	t.Run("s3", func(t *testing.T) { test(t, newS3(t, nil)) })
}

func newDirectory(t *testing.T) fixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "files")
	url, err := blob.DirectoryURL(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{
		Store:   open(t, url),
		residue: func(t *testing.T) []string { return filesBelow(t, dir) },
		crash:   func(t *testing.T, key string) { killWriter(t, url, key) },
		dir:     dir,
	}
}

func filesBelow(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// s3Server speaks the S3 protocol on loopback; before may answer a request in its place.
type s3Server struct {
	url    string
	gets   atomic.Int64
	before func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool
}

const bucket = "exports"

func startS3(t *testing.T, before func(http.ResponseWriter, *http.Request, http.Handler) bool) *s3Server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // no pauses between tries
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(backend).Server()
	server := &s3Server{before: before}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			server.gets.Add(1)
		}
		if server.before == nil || !server.before(w, r, s3) {
			s3.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(listener.Close)
	server.url = listener.URL
	return server
}

func (s *s3Server) storeURL() string {
	return "s3://" + bucket + "?region=eu-central-1&use_path_style=true&endpoint=" + s.url
}

func newS3(t *testing.T, before func(http.ResponseWriter, *http.Request, http.Handler) bool) fixture {
	t.Helper()
	server := startS3(t, before)
	return fixture{
		Store: open(t, server.storeURL()),
		residue: func(t *testing.T) []string {
			return append(server.keys(t, "?list-type=2"), server.keys(t, "?uploads")...)
		},
		crash: func(t *testing.T, key string) {
			server.call(t, http.MethodPost, "/"+key+"?uploads")
		},
	}
}

func open(t *testing.T, url string) *blob.Store {
	t.Helper()
	store, err := blob.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

var keyElement = regexp.MustCompile(`<Key>([^<]*)</Key>`)

func (s *s3Server) keys(t *testing.T, query string) (keys []string) {
	t.Helper()
	for _, m := range keyElement.FindAllStringSubmatch(s.call(t, http.MethodGet, query), -1) {
		keys = append(keys, m[1])
	}
	return keys
}

func (s *s3Server) call(t *testing.T, method, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+"/"+bucket+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	none := response.StatusCode == http.StatusNotFound && strings.Contains(string(body), "NoSuchUpload")
	if err != nil || response.StatusCode != http.StatusOK && !none {
		t.Fatalf("%s %s: status %d, %v: %s", method, path, response.StatusCode, err, body)
	}
	return string(body)
}
