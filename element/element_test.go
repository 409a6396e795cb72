package element_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/element"
)

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
