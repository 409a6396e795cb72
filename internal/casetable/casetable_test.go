// Package casetable holds the test that keeps docs/cases.md true to the tests it names.
package casetable

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var (
	line   = regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]*) \|$`)
	naming = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)\\w+)`")
)

// declared gives the tests' names of a directory of the module.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?m)^func (\w+)\(\w+ \*testing\.[TF]\)`).FindAllStringSubmatch(string(source), -1) {
			names[f[1]] = true
		}
	}
	return names
}

func TestEachCaseNamesTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := line.FindAllStringSubmatch(string(doc), -1)
	if rows := strings.Count(string(doc), "\n| ") - 2; len(cases) != rows || rows < 30 {
		t.Errorf("%d of %d lines of the table are read", len(cases), rows)
	}
	known := map[string]map[string]bool{}
	for _, c := range cases {
		named := naming.FindAllStringSubmatch(c[2], -1)
		if len(named) != len(strings.Fields(c[2])) || len(named) == 0 {
			t.Errorf("case %s names its tests as %s", c[1], c[2])
		}
		for _, n := range named {
			dir, name := n[1], n[2]
			if known[dir] == nil {
				known[dir] = declared(t, dir)
			}
			if !known[dir][name] {
				t.Errorf("case %s: %s has no %s", c[1], dir, name)
			}
		}
	}
}
