package blob_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/blob"
	"rowmill/internal/fault"
)

// inNamespace says that the test binary runs in name spaces of its own, where it may mount.
const inNamespace = "ROWMILL_BLOB_TEST_NAMESPACE"

// onSmallDisk runs a test on a directory store with a file system of 8 MiB to itself.
func onSmallDisk(t *testing.T, test func(t *testing.T, s fixture)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700")
	if refused := errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES); refused && os.Getenv(inNamespace) == "" {
		again(t)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	url, err := blob.DirectoryURL(dir)
	if err != nil {
		t.Fatal(err)
	}
	test(t, fixture{Store: open(t, url), dir: dir, residue: func(t *testing.T) []string { return filesBelow(t, dir) }})
}

// again runs the test in name spaces where its user may mount.
func again(t *testing.T) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), inNamespace+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("in a name space of its own: %v\n%s", err, out)
	}
}

func expecting(bytes int64) export.FileMeta {
	return export.FileMeta{ContentType: "text/plain", Expected: bytes}
}

func blocks(t *testing.T, path string) int64 {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Blocks
}

// Two files that fit one at a time and not together: the second is refused in words,
// before it has cost anything, and taken when the first has gone.
func TestRoomIsTakenBeforeAFileIsWritten(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, s fixture) {
		const size = 5 << 20
		refused := func(when string) {
			t.Helper()
			err := s.Put(t.Context(), "exports/b", expecting(size), func(io.Writer) error {
				t.Errorf("%s: it is written though there is no room for it", when)
				return nil
			})
			const words = "The file store is full: the file needs about 5.24 MB and 3.15 MB are free. Its operator must make room."
			if fault.KindOf(err) != fault.Unavailable || fault.Message(err) != words || !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, export.ErrNoRoom) {
				t.Errorf("%s: got %v, %q", when, err, fault.Message(err))
			}
		}
		err := s.Put(t.Context(), "exports/a", expecting(size), func(w io.Writer) error {
			refused("while the first is written")
			if left := s.residue(t); len(left) != 1 || !strings.HasPrefix(left[0], "exports/a.") || blocks(t, filepath.Join(s.dir, left[0])) < size/512 {
				t.Errorf("while the first is written: %v", left)
			}
			return writing(content(size))(w)
		})
		if err != nil {
			t.Fatal(err)
		}
		refused("beside the first")
		if diff := cmp.Diff([]string{"exports/a"}, s.residue(t)); diff != "" {
			t.Errorf("after the refusals (-want +got):\n%s", diff)
		}
		if err := s.Delete(t.Context(), "exports/a"); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "exports/b", expecting(size), writing(content(size))); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if got := get(t, s, "exports/b"); len(got) != size {
			t.Errorf("%d bytes came back", len(got))
		}
	})
}

// A file takes the blocks that its bytes do, however many were expected.
func TestWhatAFileDoesNotNeedIsGivenBack(t *testing.T) {
	check := func(t *testing.T, s fixture) {
		for name, size := range map[string]int{"none": 0, "one": 1, "some": 1<<20 + 1, "all": 3 << 20, "more": 4<<20 + 12345} {
			plain := filepath.Join(s.dir, name)
			file, err := os.Create(plain)
			if err == nil {
				_, err = file.Write(content(size))
			}
			if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
				t.Fatal(err)
			}
			want := blocks(t, plain)
			if err := os.Remove(plain); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), name, expecting(3<<20), writing(content(size))); err != nil {
				t.Fatal(err)
			}
			if got := blocks(t, plain); got != want || len(get(t, s, name)) != size {
				t.Errorf("%s: %d bytes take %d blocks, want %d", name, size, got, want)
			}
			if err := s.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("usual disk", func(t *testing.T) { check(t, newDirectory(t)) })
	t.Run("memory", func(t *testing.T) { onSmallDisk(t, check) })
}

// A failed Put gives its room back at once.
func TestAFailedPutGivesItsRoomBack(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, s fixture) {
		broken := errors.New("broken")
		for range 4 {
			if err := s.Put(t.Context(), "a", expecting(6<<20), func(io.Writer) error { return broken }); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
		if left := s.residue(t); len(left) != 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// Two exports whose files fit one at a time: the second fails before it has read a
// page, and succeeds once the first one's file is gone.
func TestAnExportWithoutRoomReadsNoPage(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, s fixture) {
		first, second := &wideRows{rows: 150}, &wideRows{rows: 150} // 4.8 MB each, 6 MB with the margin
		file, err := s.export(t, first, "first", 1)
		if err != nil {
			t.Fatal(err)
		}
		published, err := s.export(t, second, "second", 1)
		if message := fault.Message(err); published != nil || fault.KindOf(err) != fault.Unavailable || !strings.HasPrefix(message, "The file store is full: the file needs about 6 MB and 3.5") {
			t.Errorf("the second beside the first: %+v, %v, %q", published, err, message)
		}
		if n := second.fetched.Load(); n != 0 {
			t.Errorf("it has read %d pages", n)
		}
		if diff := cmp.Diff([]string{file.Key}, s.residue(t)); diff != "" {
			t.Errorf("after it (-want +got):\n%s", diff)
		}
		if err := s.Delete(t.Context(), file.Key); err != nil {
			t.Fatal(err)
		}
		if published, err = s.export(t, second, "second", 2); err != nil || published == nil || published.Size < 150*wideText {
			t.Errorf("the second alone: %+v, %v", published, err)
		}
	})
}
