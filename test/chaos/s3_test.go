package chaos

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const bucket = "exports"

// s3Server speaks the S3 protocol and can be told to fail.
type s3Server struct {
	*httptest.Server
	fault atomic.Value // kind
	parts atomic.Int64 // of uploads in parts
}

func startS3(t *testing.T) *s3Server {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	s := &s3Server{}
	s.fault.Store(kind(""))
	inner := gofakes3.New(backend).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, inner) }))
	t.Cleanup(s.Close)
	return s
}

func (s *s3Server) serve(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
		s.parts.Add(1)
	}
	switch s.fault.Load().(kind) {
	case storeErrors:
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "out of order", http.StatusInternalServerError)
	case storeLastFails: // a whole object's PUT, and the joining of parts
		if r.Method == http.MethodPut && !r.URL.Query().Has("partNumber") || r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			_, _ = io.Copy(io.Discard, r.Body)
			http.Error(w, "out of order at the end", http.StatusInternalServerError)
			return
		}
		inner.ServeHTTP(w, r)
	case storeAnswerLost: // it has done it, and nobody hears so
		inner.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case storeSlow:
		pause := time.NewTimer(300 * time.Millisecond)
		defer pause.Stop()
		<-pause.C
		inner.ServeHTTP(w, r)
	default:
		inner.ServeHTTP(w, r)
	}
}

func (s *s3Server) apply(f fault) (lift func(context.Context) error, err error) {
	s.fault.Store(f.Kind)
	return func(context.Context) error { s.fault.Store(kind("")); return nil }, nil
}

func (s *s3Server) addr() string { return strings.TrimPrefix(s.URL, "http://") }

// keys lists the objects, uploads the multipart uploads that have not ended.
func (s *s3Server) keys(ctx context.Context) ([]string, error)    { return s.list(ctx, "?list-type=2") }
func (s *s3Server) uploads(ctx context.Context) ([]string, error) { return s.list(ctx, "?uploads") }

func (s *s3Server) list(ctx context.Context, query string) (keys []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/"+bucket+query, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound && strings.Contains(string(body), "NoSuchUpload") {
		return nil, nil // so it says that it never had one
	}
	var listed struct {
		IsTruncated bool
		Contents    []struct{ Key string }
		Upload      []struct{ Key string }
	}
	if err := xml.Unmarshal(body, &listed); err != nil || resp.StatusCode != http.StatusOK || listed.IsTruncated {
		return nil, fmt.Errorf("list %s: status %d, truncated %v: %w", query, resp.StatusCode, listed.IsTruncated, err)
	}
	for _, c := range slices.Concat(listed.Contents, listed.Upload) {
		keys = append(keys, c.Key)
	}
	return keys, nil
}
