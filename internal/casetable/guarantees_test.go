package casetable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each line of docs/guarantees.md names tests that exist, or says that there is none.
func TestEachGuaranteeNamesTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range strings.Lines(string(doc)) {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| ") || len(cells) != 5 || cells[4] == "proved by |\n" || cells[1] == "---" {
			continue
		}
		rows++
		named := naming.FindAllStringSubmatch(cells[4], -1)
		if len(named) == 0 && !strings.Contains(cells[4], "not tested yet") {
			t.Errorf("%s: no test, and not said so", cells[0])
		}
		if strings.Count(cells[4], "`") != 2*len(named) {
			t.Errorf("%s: a test of %s cannot be read", cells[0], cells[4])
		}
		for _, n := range named {
			if !declared(t, n[1])[n[2]] {
				t.Errorf("%s: %s has no %s", cells[0], n[1], n[2])
			}
		}
	}
	table, _, _ := strings.Cut(string(doc), "\n## ") // the record of the fault campaign has tables of its own
	if lines := strings.Count(table, "\n| ") - 2; rows != lines || rows < 20 {
		t.Errorf("%d of %d lines of the table are read", rows, lines)
	}
}
