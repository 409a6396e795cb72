package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/iotest"

	"rowmill/internal/fault"
)

func TestReadAt(t *testing.T) {
	const size = 700 << 10 // more than one window
	want := content(size)
	reference := bytes.NewReader(want)
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "a", want)
		r, err := s.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.Size() != size {
			t.Errorf("size %d", r.Size())
		}
		for _, at := range []struct{ off, n int64 }{
			{0, 10}, {size - 10, 10}, {size - 10, 11}, {size, 1}, {size + 100, 1}, {0, 0}, {0, size}, {0, size + 1},
			{256<<10 - 5, 10}, {300 << 10, 300 << 10}, {0, 1},
		} {
			got, expected := make([]byte, at.n), make([]byte, at.n)
			n, err := r.ReadAt(got, at.off)
			wantN, wantErr := reference.ReadAt(expected, at.off)
			// At the very end io.ReaderAt allows both errors.
			same := errors.Is(err, wantErr) || at.off+at.n == size && errors.Is(err, io.EOF) || at.n == 0
			if n != wantN || !same || !bytes.Equal(got, expected) {
				t.Errorf("%d bytes at %d: got %d, %v, want %d, %v", at.n, at.off, n, err, wantN, wantErr)
			}
		}
		if err := iotest.TestReader(io.NewSectionReader(r, 1000, 500<<10), want[1000:1000+500<<10]); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("reading before the file's start: no error")
		}
	})
}

func TestConcurrentReads(t *testing.T) {
	want := content(700 << 10)
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "a", want)
		r, err := s.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				off := i * 150 << 10
				got, err := io.ReadAll(io.NewSectionReader(r, int64(off), 100<<10))
				if err != nil || !bytes.Equal(got, want[off:off+100<<10]) {
					t.Errorf("reader %d: %d bytes, %v", i, len(got), err)
				}
			})
		}
		all.Wait()
	})
}

func TestOpenAbsent(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "exports/a", nil)
		for _, key := range []string{"a", "exports", "exports/b"} {
			if _, err := s.Open(t.Context(), key); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

func TestReadingStopsWithItsContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "a", content(1000))
		ctx, cancel := context.WithCancel(t.Context())
		r, err := s.Open(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := r.ReadAt(make([]byte, 10), 0); !errors.Is(err, context.Canceled) {
			t.Errorf("after its context: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadAt(make([]byte, 10), 0); err == nil {
			t.Error("after Close: no error")
		}
	})
}

func TestReadAheadSparesRequests(t *testing.T) {
	server := startS3(t, nil)
	s := fixture{Store: open(t, server.storeURL())}
	want := content(multipart)
	put(t, s, "a", want)
	server.gets.Store(0)
	r, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	piece := make([]byte, 4<<10)
	for off := 0; off < len(want); off += len(piece) {
		n, err := r.ReadAt(piece, int64(off))
		if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(piece[:n], want[off:off+n]) {
			t.Fatalf("at %d: %d bytes, %v", off, n, err)
		}
	}
	// 256 kB, 512 kB, 1 MB, 2 MB, then 4 MB each.
	if got := server.gets.Load(); got != 8 {
		t.Errorf("%d requests for 17 MiB", got)
	}
}

// cutting answers the next few ranges with half of what was announced.
func cutting(cuts int) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	return func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "" || cuts == 0 {
			return false
		}
		cuts--
		whole := httptest.NewRecorder()
		s3.ServeHTTP(whole, r)
		maps.Copy(w.Header(), whole.Header())
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestReadGoesOnAfterABrokenAnswer(t *testing.T) {
	for cuts, whole := range map[int]bool{2: true, 3: false} {
		s := newS3(t, cutting(cuts))
		put(t, s, "a", content(1000))
		r, err := s.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1000)
		n, err := r.ReadAt(got, 0)
		if whole && (err != nil || !bytes.Equal(got, content(1000))) {
			t.Errorf("%d broken answers: %d bytes, %v", cuts, n, err)
		}
		if !whole && (n != 0 || fault.KindOf(err) != fault.Unavailable || errors.Is(err, io.EOF)) {
			t.Errorf("%d broken answers: %d bytes, %v", cuts, n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkingETag honours If-Match on GET, as S3 does and the test's server does not.
func checkingETag(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
	want := r.Header.Get("If-Match")
	if r.Method != http.MethodGet || want == "" {
		return false
	}
	head := httptest.NewRecorder()
	s3.ServeHTTP(head, httptest.NewRequestWithContext(r.Context(), http.MethodHead, r.URL.Path, nil))
	if head.Header().Get("ETag") == want {
		return false
	}
	w.WriteHeader(http.StatusPreconditionFailed)
	return true
}

func TestReplacedObjectIsNotMixed(t *testing.T) {
	s := newS3(t, checkingETag)
	put(t, s, "a", content(300<<10))
	r, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", make([]byte, 300<<10))
	if _, err := r.ReadAt(make([]byte, 10), 290<<10); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("reading on in another file: %v", err)
	}
}
