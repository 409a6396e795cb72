package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"rowmill/internal/bench"
)

func TestBenchHome(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"bench", "home", "--no-load", "--steady", "1ms", "--json"}, streams{&out, &errs})
	var r bench.HomeReport
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil || len(r.Ladder) != 5 || r.Sections != 37 {
		t.Fatalf("status %d, error %v, got %+v: %s", code, err, r, errs.String())
	}
	out.Reset()
	if code := run(t.Context(), []string{"bench", "home", "--no-load", "--steady", "1ms"}, streams{&out, &errs}); code != 0 || !strings.Contains(out.String(), "the product's origin | 4 |") {
		t.Errorf("status %d: %s%s", code, out.String(), errs.String())
	}
	if code := run(t.Context(), []string{"bench", "home", "--start", "0"}, streams{&out, &errs}); code != 1 || !strings.Contains(errs.String(), "--start: 0 is not between") {
		t.Errorf("status %d: %s", code, errs.String())
	}
}
