package blob_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func keepK(key string) bool { return strings.HasPrefix(key, "k") }

func TestSweep(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "kept", nil)
		put(t, s, "lost/a", nil)
		s.crash(t, "lost/b") // unfinished
		before := s.residue(t)
		if len(before) != 3 {
			t.Fatalf("the store holds %v", before)
		}
		if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour), keepK); n != 0 || err != nil {
			t.Errorf("all is young: %d removed, %v", n, err)
		}
		if diff := cmp.Diff(before, s.residue(t)); diff != "" {
			t.Errorf("the sweep took what is young (-want +got):\n%s", diff)
		}
		if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), keepK); n != 2 || err != nil {
			t.Errorf("all is old: %d removed, %v", n, err)
		}
		if diff := cmp.Diff([]string{"kept"}, s.residue(t)); diff != "" {
			t.Errorf("after the sweep (-want +got):\n%s", diff)
		}
	})
}

// S3 dates an upload from its begin: that of a job which runs for hours is old,
// and goes on.
func TestSweepLeavesAnUploadThatIsKept(t *testing.T) {
	s := newS3(t, nil)
	s.crash(t, "kept")
	if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), keepK); n != 0 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if diff := cmp.Diff([]string{"kept"}, s.residue(t)); diff != "" {
		t.Errorf("after the sweep (-want +got):\n%s", diff)
	}
}

func TestSweepAfterAKillLeavesNoFile(t *testing.T) {
	s := newDirectory(t)
	s.crash(t, "exports/a")
	if got := list(t, s, ""); len(got) != 0 {
		t.Errorf("visible after the kill: %v", got)
	}
	put(t, s, "exports/a", []byte("second attempt"))
	if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), func(string) bool { return true }); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if diff := cmp.Diff([]string{"exports/a"}, s.residue(t)); diff != "" {
		t.Errorf("after the sweep (-want +got):\n%s", diff)
	}
}

func TestDeleteRemovesWhatAKilledUploadLeft(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		s.crash(t, "exports/a")
		s.crash(t, "exports/ab") // another key, though it starts alike
		put(t, s, "exports/a", []byte("whole"))
		if err := s.Delete(t.Context(), "exports/a"); err != nil {
			t.Fatal(err)
		}
		left := s.residue(t)
		if len(left) != 1 || !strings.HasPrefix(left[0], "exports/ab") {
			t.Errorf("left: %v", left)
		}
	})
}

// A directory named by mistake loses nothing.
func TestSweepLeavesForeignFiles(t *testing.T) {
	s := newDirectory(t)
	foreign := []string{".profile", "a b", "notes.tmp", "x.tmp", ".x.18bcfe56abcdef01.tmp", "x.abc.tmp"}
	for _, name := range foreign {
		if err := os.WriteFile(s.dir+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), keepK); n != 0 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	got := s.residue(t)
	slices.Sort(foreign)
	if diff := cmp.Diff(foreign, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := list(t, s, ""); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
}
