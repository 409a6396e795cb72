package blob_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/blob"
	"rowmill/internal/fault"
)

func list(t *testing.T, s fixture, prefix string) (keys []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestList(t *testing.T) {
	tests := []struct {
		prefix string
		want   []string
	}{
		{"", []string{"a", "b/1", "b/2", "b/c/3", "bc"}},
		{"a", []string{"a"}},
		{"b", []string{"b/1", "b/2", "b/c/3", "bc"}},
		{"b/", []string{"b/1", "b/2", "b/c/3"}},
		{"b/c/", []string{"b/c/3"}},
		{"b/c/3", []string{"b/c/3"}},
		{"none/", nil},
	}
	eachStore(t, func(t *testing.T, s fixture) {
		for _, key := range tests[0].want {
			put(t, s, key, []byte(key))
		}
		for _, test := range tests {
			if diff := cmp.Diff(test.want, list(t, s, test.prefix)); diff != "" {
				t.Errorf("prefix %q (-want +got):\n%s", test.prefix, diff)
			}
			var keys []string
			for key, err := range s.Keys(t.Context(), test.prefix) {
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
			}
			slices.Sort(keys)
			if diff := cmp.Diff(test.want, keys); diff != "" {
				t.Errorf("keys of prefix %q (-want +got):\n%s", test.prefix, diff)
			}
		}
		for o, err := range s.List(t.Context(), "b/c") {
			age := time.Since(o.ModTime)
			if err != nil || o.Size != 5 || age < -time.Minute || age > time.Minute {
				t.Errorf("got %+v, %v", o, err)
			}
		}
		for _, err := range s.List(t.Context(), "") {
			if err != nil {
				t.Error(err)
			}
			break // and the iterator stops
		}
	})
}

func TestListEndsWithItsContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "a", nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var got []error
		for _, err := range s.List(ctx, "") {
			got = append(got, err)
		}
		if len(got) != 1 || !strings.Contains(got[0].Error(), context.Canceled.Error()) {
			t.Errorf("got %v", got)
		}
	})
}

func TestDeleteIsIdempotent(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		put(t, s, "exports/a", []byte("x"))
		put(t, s, "exports/b", []byte("x"))
		for range 2 {
			if err := s.Delete(t.Context(), "exports/a"); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]string{"exports/b"}, s.residue(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestKeysAreChecked(t *testing.T) {
	bad := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".hidden", "a\\b", "a b", "a\x00", "é", "\xff",
		"a.tmp", "a.attrs", "a__0x2f__b", strings.Repeat("a", 201), strings.Repeat("a/", 256) + "a",
	}
	eachStore(t, func(t *testing.T, s fixture) {
		for _, key := range bad {
			_, opening := s.Open(t.Context(), key)
			for doing, err := range map[string]error{
				"put": s.Put(t.Context(), key, text, writing(nil)), "open": opening, "delete": s.Delete(t.Context(), key),
			} {
				if fault.KindOf(err) != fault.Invalid {
					t.Errorf("%s %.20q: %v", doing, key, err)
				}
			}
		}
		longest := strings.Repeat(strings.Repeat("a", 200)+"/", 2) + strings.Repeat("a", 110)
		put(t, s, longest, []byte("x"))
		if diff := cmp.Diff([]string{longest}, list(t, s, "")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOpenRefusesBadURLs(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	for _, url := range []string{
		"", "files", "/var/files", "http://host/dir", "mem://", "file:dir", "file:///", "file://host/dir", "file:///dir?create_dir=1", "file://%zz",
		"s3://", "s3://bucket", "s3://bucket/path?region=x", "s3://key:hunter2@bucket?region=x", "s3://bucket?region=x&region=y",
		"s3://bucket?region=x&endpoint=localhost:9000", "s3://bucket?region=x&endpoint=http://key:hunter2@host", "s3://bucket?region=x&use_path_style=perhaps",
		"s3://bucket?region=x&checksums=never", "s3://bucket?region=x&prefix=a", "s3://bucket?%zz", "s3://k:hunter2@[::1",
	} {
		_, err := blob.Open(t.Context(), url)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", url, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error gives the secret away: %v", err)
		}
	}
}

func TestOpenDirectoryThatCannotBe(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"file://" + file, "file://" + file + "/below"} {
		if _, err := blob.Open(t.Context(), url); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestPing(t *testing.T) {
	eachStore(t, func(t *testing.T, s fixture) {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if got := s.residue(t); len(got) != 0 {
			t.Errorf("it leaves %v", got)
		}
	})
	t.Run("directory is gone", func(t *testing.T) {
		s := newDirectory(t)
		if err := os.RemoveAll(s.dir); err != nil {
			t.Fatal(err)
		}
		if err := s.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("ping: %v", err)
		}
		for _, err := range s.List(t.Context(), "") {
			if fault.KindOf(err) != fault.Unavailable {
				t.Errorf("list: %v", err)
			}
		}
	})
	t.Run("bucket is absent", func(t *testing.T) {
		url := strings.Replace(startS3(t, nil).storeURL(), bucket, "other", 1)
		if err := open(t, url).Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v", err)
		}
	})
}
