package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
)

var text = export.FileMeta{ContentType: "text/plain"}

// content gives n bytes that do not compress and tell their place.
func content(n int) []byte {
	b := make([]byte, n)
	chacha := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = chacha.Read(b) // never fails
	return b
}

func writing(p []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(p)
		return err
	}
}

func put(t *testing.T, s fixture, key string, p []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, text, writing(p)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s fixture, key string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Multipart uploads start at 16 MiB.
const multipart = 17<<20 + 1

func TestPutAndRead(t *testing.T) {
	sizes := []int{0, 1, 256 << 10, 256<<10 + 1, multipart}
	eachStore(t, func(t *testing.T, s fixture) {
		for _, size := range sizes {
			key := fmt.Sprintf("exports/%d.xlsx", size)
			put(t, s, key, content(size))
			if got := get(t, s, key); !bytes.Equal(got, content(size)) {
				t.Errorf("of %d bytes %d came back, or others", size, len(got))
			}
		}
		if got := len(s.residue(t)); got != len(sizes) {
			t.Errorf("the store holds %v, not %d files", s.residue(t), len(sizes))
		}
	})
}

func TestPutReplaces(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "a", []byte("the first and longer"))
		put(t, s, "a", []byte("second"))
		if got := string(get(t, s, "a")); got != "second" {
			t.Errorf("got %q", got)
		}
	})
}

func TestHalfWrittenIsInvisible(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		err := s.Put(t.Context(), "exports/a", text, func(w io.Writer) error {
			if err := writing(content(multipart))(w); err != nil {
				return err
			}
			if _, err := s.Open(t.Context(), "exports/a"); fault.KindOf(err) != fault.NotFound {
				t.Errorf("opening a file that is being written: %v", err)
			}
			if got := list(t, s, ""); len(got) != 0 {
				t.Errorf("listed while being written: %v", got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"exports/a"}, list(t, s, "")); diff != "" {
			t.Errorf("files after the Put (-want +got):\n%s", diff)
		}
	})
}

func TestFailedPutLeavesNothing(t *testing.T) {
	errOfWriter := fault.New(fault.Conflict, "of the writer")
	fails := map[string]func(cancel func(), w io.Writer) error{
		"before the first byte": func(_ func(), _ io.Writer) error { return errOfWriter },
		"after the last byte of a small file": func(_ func(), w io.Writer) error {
			return errors.Join(writing(content(1000))(w), errOfWriter)
		},
		"after the last byte of a big file": func(_ func(), w io.Writer) error {
			return errors.Join(writing(content(multipart))(w), errOfWriter)
		},
		"source ends early": func(_ func(), w io.Writer) error {
			return errors.Join(writing(content(1000))(w), fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, errOfWriter))
		},
		"canceled, and stops": func(cancel func(), w io.Writer) error {
			err := writing(content(multipart))(w)
			cancel()
			return err
		},
		"canceled, and goes on": func(cancel func(), w io.Writer) error {
			cancel()
			for range 1 << 10 {
				if err := writing(content(1 << 20))(w); err != nil {
					return err
				}
			}
			t.Error("a canceled Put took 1 GiB")
			return nil
		},
		"canceled, and hides the writer's error": func(cancel func(), w io.Writer) error {
			cancel()
			_ = writing(content(1 << 20))(w)
			return nil
		},
	}
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "old", []byte("as it was"))
		for name, fail := range fails {
			for _, key := range []string{"new", "old"} {
				ctx, cancel := context.WithCancel(t.Context())
				err := s.Put(ctx, key, text, func(w io.Writer) error { return fail(cancel, w) })
				cancel()
				if canceled := strings.HasPrefix(name, "canceled"); canceled != errors.Is(err, context.Canceled) ||
					canceled == errors.Is(err, errOfWriter) {
					t.Errorf("%s: wrong error: %v", name, err)
				}
				if diff := cmp.Diff([]string{"old"}, s.residue(t)); diff != "" {
					t.Fatalf("%s: the store's contents (-want +got):\n%s", name, diff)
				}
			}
		}
		if got := string(get(t, s, "old")); got != "as it was" {
			t.Errorf("the file that was there holds %q", got)
		}
	})
}

func TestPanicOfWriterLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		func() {
			defer func() {
				if got := recover(); got != "of the writer" {
					t.Errorf("recovered %v", got)
				}
			}()
			_ = s.Put(t.Context(), "a", text, func(w io.Writer) error {
				_ = writing(content(multipart))(w)
				panic("of the writer")
			})
		}()
		if got := s.residue(t); len(got) != 0 {
			t.Errorf("left over: %v", got)
		}
	})
}

func TestConcurrentPuts(t *testing.T) {
	const writers = 8
	eachStore(t, func(t *testing.T, s fixture) {
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				own := bytes.Repeat([]byte{byte('a' + i)}, 300<<10+i)
				for _, key := range []string{"shared", fmt.Sprintf("own/%d", i)} {
					if err := s.Put(t.Context(), key, text, writing(own)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		shared := get(t, s, "shared")
		if n := bytes.Count(shared, shared[:1]); n != len(shared) {
			t.Error("the file that all wrote is a mixture")
		}
		for i := range writers {
			if got := get(t, s, fmt.Sprintf("own/%d", i)); len(got) != 300<<10+i || got[0] != byte('a'+i) {
				t.Errorf("file %d: %d bytes of %q", i, len(got), got[:1])
			}
		}
		if got := len(s.residue(t)); got != writers+1 {
			t.Errorf("%d files, not %d: %v", got, writers+1, s.residue(t))
		}
	})
}

func TestDirectoryIsPrivate(t *testing.T) {
	s := newDirectory(t)
	put(t, s, "exports/a", nil)
	for _, dir := range []string{s.dir, s.dir + "/exports"} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s has mode %o", dir, got)
		}
	}
}
