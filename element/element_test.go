package element_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/element"
)

func TestHandler(t *testing.T) {
	tests := []struct {
		name, method, path, ifNoneMatch string
		status                          int
		cache                           string
	}{
		{"newest", "GET", element.Path, "", 200, "public, max-age=300, must-revalidate"},
		{"by its hash", "GET", element.HashedPath(), "", 200, "public, max-age=31536000, immutable"},
		{"head", "HEAD", element.Path, "", 200, "public, max-age=300, must-revalidate"},
		{"known already", "GET", element.Path, `"` + element.Hash() + `"`, 304, "public, max-age=300, must-revalidate"},
		{"another version", "GET", element.Path, `"abc"`, 200, "public, max-age=300, must-revalidate"},
		{"another hash", "GET", "/assets/export-button.000000000000.js", "", 404, ""},
		{"another file", "GET", "/assets/element.go", "", 404, ""},
		{"not to be written", "POST", element.Path, "", 405, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, nil)
			r.Header.Set("If-None-Match", test.ifNoneMatch)
			w := httptest.NewRecorder()
			element.Handler().ServeHTTP(w, r)
			if w.Code != test.status {
				t.Errorf("status %d, want %d", w.Code, test.status)
			}
			if got := w.Header().Get("Cache-Control"); got != test.cache {
				t.Errorf("Cache-Control %q, want %q", got, test.cache)
			}
			if test.status != http.StatusOK {
				return
			}
			for name, want := range map[string]string{
				"Content-Type": "text/javascript; charset=utf-8", "Access-Control-Allow-Origin": "*", "ETag": `"` + element.Hash() + `"`,
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s %q, want %q", name, got, want)
				}
			}
			want := read(t, "export-button.js")
			if test.method == http.MethodHead {
				want = ""
			}
			if diff := cmp.Diff(want, w.Body.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	got, err := fs.ReadFile(element.Files(), "export-button.js")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, "export-button.js"), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTypesAreOfThisModule(t *testing.T) {
	sum := sha256.Sum256([]byte(read(t, "export-button.js")))
	first, _, _ := strings.Cut(read(t, "export-button.d.ts"), "\n")
	if want := hex.EncodeToString(sum[:]); !strings.Contains(first, want) {
		t.Errorf("export-button.d.ts is of another export-button.js: run \"npm run types\" in element/\n%s\nwant %s", first, want)
	}
}

func TestPureParts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test runs JavaScript: install the package nodejs (20 or newer)")
	}
	out, err := exec.CommandContext(t.Context(), node, "--test", "export-button.test.js").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
