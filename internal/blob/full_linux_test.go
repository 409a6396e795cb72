package blob_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"rowmill/export"
	"rowmill/internal/fault"
)

// fillDisk makes every further write of the temporary file in dir end as on a
// full disk: the kernel puts /dev/full behind the descriptor that writes it.
func fillDisk(t *testing.T, dir string) { putBehind(t, dir, "/dev/full") }

// putBehind puts a device behind the descriptor that writes the temporary file in dir.
func putBehind(t *testing.T, dir, device string) {
	t.Helper()
	full, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		target, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err != nil || !strings.HasPrefix(target, dir) || !strings.HasSuffix(target, ".tmp") {
			continue
		}
		var fd int
		for _, digit := range d.Name() {
			fd = fd*10 + int(digit-'0')
		}
		if err := syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("nothing writes a temporary file in %s", dir)
}

func TestFullStore(t *testing.T) {
	const size = 1 << 20
	tests := map[string]struct {
		store func(t *testing.T) fixture
		fill  func(t *testing.T, s fixture)
	}{
		"disk": {newDirectory, func(t *testing.T, s fixture) { fillDisk(t, s.dir) }},
		"s3": {
			func(t *testing.T) fixture {
				return newS3(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
					if r.Method == http.MethodPut {
						_, _ = io.Copy(io.Discard, r.Body)
						w.WriteHeader(http.StatusInsufficientStorage)
					}
					return r.Method == http.MethodPut
				})
			}, func(*testing.T, fixture) {},
		},
	}
	hidden := map[string]func(error) error{
		"error is passed on": func(err error) error { return err },
		"error is hidden":    func(error) error { return nil },
	}
	for name, test := range tests {
		for how, passOn := range hidden {
			t.Run(name+", "+how, func(t *testing.T) {
				s := test.store(t)
				err := s.Put(t.Context(), "exports/a", text, func(w io.Writer) error {
					if err := writing(content(size))(w); err != nil {
						return err
					}
					test.fill(t, s)
					return passOn(writing(content(size))(w))
				})
				if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Message(err), "full") || !errors.Is(err, export.ErrNoRoom) {
					t.Errorf("got %v, %q", err, fault.Message(err))
				}
				if got := s.residue(t); len(got) != 0 {
					t.Errorf("left over: %v", got)
				}
			})
		}
	}
}

// Every byte was taken, and only their way to the disk fails: /dev/null takes all,
// and cannot be synced.
func TestADirectoryStoreWhoseSyncFails(t *testing.T) {
	s := newDirectory(t)
	put(t, s, "exports/a", []byte("as it was"))
	err := s.Put(t.Context(), "exports/a", text, func(w io.Writer) error {
		err := writing(content(1 << 20))(w) // past the buffer, straight into the file
		putBehind(t, s.dir, "/dev/null")
		return err
	})
	if fault.KindOf(err) != fault.Unavailable || fault.Message(err) != unfinished || !strings.Contains(err.Error(), "sync") {
		t.Errorf("got %v, %q", err, fault.Message(err))
	}
	if left := s.residue(t); len(left) != 1 || string(get(t, s, "exports/a")) != "as it was" {
		t.Errorf("left over: %v", left)
	}
	put(t, s, "exports/a", content(1<<20))
}
