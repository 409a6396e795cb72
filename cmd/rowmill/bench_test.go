package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"rowmill/internal/bench"
)

func TestBenchExport(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"bench", "export", "--rows", "30", "--page-size", "20", "--pool", "2", "--no-stages", "--json"}, streams{&out, &errs})
	var r bench.Report
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("status %d, error %v: %s", code, err, errs.String())
	}
	if r.Rows != 30 || r.PageSize != 20 || r.Pool != 2 || len(r.Ladder) != 6 || r.Stages != nil {
		t.Errorf("got %+v", r)
	}
	out.Reset()
	if code := run(t.Context(), []string{"bench", "export", "--rows", "30", "--no-ladder"}, streams{&out, &errs}); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	for _, want := range []string{"SQL + scan", "verify", "the product"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestBenchFile(t *testing.T) {
	var out, errs bytes.Buffer
	path := filepath.Join(t.TempDir(), "x.xlsx")
	code := run(t.Context(), []string{"bench", "file", "--rows", "30", "--columns", "5", "--out", path, "--json"}, streams{&out, &errs})
	var r bench.FileReport
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil || r.Rows != 30 || r.Columns != 5 || r.Alone == nil {
		t.Errorf("status %d, error %v, got %+v: %s", code, err, r, errs.String())
	}
}

func TestBenchRefusesWrongFlags(t *testing.T) {
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"export", "--rows", "0"}, 1, "--rows: 0 is not between"},
		{[]string{"export", "--rtt", "1h"}, 1, "--rtt: 1h0m0s is not between"},
		{[]string{"export", "--rtt", "soon"}, 2, "--rtt: \"soon\" is not a duration"},
		{[]string{"export", "--rows", "5", "--mysql-dsn", "nonsense"}, 1, "DSN is not valid"},
		{[]string{"file", "--rows", "many"}, 2, "--rows: \"many\" is not a whole number"},
		{[]string{"file"}, 1, "--rows: 0 is not between"},
		{[]string{"file", "--tsv", filepath.Join(t.TempDir(), "none")}, 2, "--tsv"},
	}
	for _, test := range tests {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"bench"}, test.args...), streams{&out, &errs}); code != test.code || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%v: status %d, want %d with %q: %s", test.args, code, test.code, test.want, errs.String())
		}
	}
}
