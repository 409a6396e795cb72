package blob_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"rowmill/internal/fault"
)

// fillDisk makes every further write of the temporary file in dir end as on a
// full disk: the kernel puts /dev/full behind the descriptor that writes it.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
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
				if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Message(err), "full") {
					t.Errorf("got %v, %q", err, fault.Message(err))
				}
				if got := s.residue(t); len(got) != 0 {
					t.Errorf("left over: %v", got)
				}
			})
		}
	}
}
