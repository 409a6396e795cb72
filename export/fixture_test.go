package export_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// What the release before has stored of a job is read whole, and written again it
// is the same: no field has lost its name, its meaning or its form.
func TestJobsStoredByTheReleaseBefore(t *testing.T) {
	for file, into := range map[string]any{
		"testdata/request-v1.json": &export.Request{},
		"testdata/receipt-v1.json": &export.Receipt{},
	} {
		stored, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(stored))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		again, err := json.Marshal(into)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(bytes.TrimSpace(stored)), string(again)); diff != "" {
			t.Errorf("%s (-stored +written):\n%s", file, diff)
		}
	}
}
