package blob_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
)

// A file of multipart bytes is sent in parts of 8 MiB: this is its last.
func lastPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "3"
}

func completion(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
}

// s3Fault is what becomes of a call.
type s3Fault func(w http.ResponseWriter, r *http.Request, s3 http.Handler)

func cutOff(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func answer500(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusInternalServerError)
}

// loseAnswer lets the call have its effect, of which its caller never hears.
func loseAnswer(_ http.ResponseWriter, r *http.Request, s3 http.Handler) {
	s3.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func TestAnS3StoreThatFailsAtTheLastByte(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  func(*http.Request) bool
		fault s3Fault
		words string
		there bool // the file, in spite of the error
	}{
		{"the last part is cut off", lastPart, cutOff, unfinished, false},
		{"the last part is answered with 500", lastPart, answer500, unfinished, false},
		{"the completion is cut off", completion, cutOff, unfinished, false},
		{"the completion is answered with 500", completion, answer500, unfinished, false},
		{"the answer to the last part is lost", lastPart, loseAnswer, unfinished, false},
		{"the answer to the completion is lost", completion, loseAnswer, unfinished, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fails atomic.Bool
			fails.Store(true)
			s := newS3(t, func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
				if !c.call(r) || !fails.Load() {
					return false
				}
				c.fault(w, r, s3)
				return true
			})
			err := s.Put(t.Context(), "exports/a", text, writing(content(multipart)))
			if fault.KindOf(err) != fault.Unavailable || fault.Message(err) != c.words {
				t.Errorf("got %v, %q", err, fault.Message(err))
			}
			var want []string
			if c.there {
				want = []string{"exports/a"}
				if got := get(t, s, "exports/a"); !bytes.Equal(got, content(multipart)) {
					t.Errorf("a file of %d bytes is there that is not whole", len(got))
				}
			}
			if diff := cmp.Diff(want, s.residue(t)); diff != "" {
				t.Errorf("left over, parts too (-want +got):\n%s", diff)
			}
			if err := s.Delete(t.Context(), "exports/a"); err != nil {
				t.Error(err)
			}
			fails.Store(false)
			put(t, s, "exports/b", content(multipart))
			if diff := cmp.Diff([]string{"exports/b"}, s.residue(t)); diff != "" {
				t.Errorf("after the next file (-want +got):\n%s", diff)
			}
		})
	}
}

// The SDK asks again, and the store knows the upload no more: that is no lack of a bucket.
func TestACompletionWhoseAnswerIsLostAndAskedForAgain(t *testing.T) {
	var lost atomic.Bool
	server := startS3(t, func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
		if completion(r) && lost.CompareAndSwap(false, true) {
			loseAnswer(w, r, s3)
		}
		return false
	})
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	s := open(t, server.storeURL())
	err := s.Put(t.Context(), "exports/a", text, writing(content(multipart)))
	if fault.KindOf(err) != fault.Unavailable || fault.Message(err) != unfinished {
		t.Errorf("got %v, %q", err, fault.Message(err))
	}
	if left := server.keys(t, "?uploads"); len(left) != 0 {
		t.Errorf("uploads left: %v", left)
	}
}

const unfinished = "The file store could not finish the file. Try again in a moment."

// A directory refuses the new name where another directory has it.
func TestADirectoryStoreWhoseRenameFails(t *testing.T) {
	s := newDirectory(t)
	inTheWay := filepath.Join(s.dir, "exports", "a")
	err := s.Put(t.Context(), "exports/a", text, func(w io.Writer) error {
		if err := os.MkdirAll(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		return writing(content(1 << 20))(w)
	})
	if fault.KindOf(err) != fault.Unavailable || fault.Message(err) != unfinished || !strings.Contains(err.Error(), "rename") {
		t.Errorf("got %v, %q", err, fault.Message(err))
	}
	if left := s.residue(t); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	put(t, s, "exports/a", content(1<<20))
}
