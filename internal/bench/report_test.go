package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func sampleReport() Report {
	r := Report{
		Rows: 4000, Columns: 25, PageSize: 1000, Pool: 4, Repeat: 3, RTTMillis: 1.5, Database: "sqlite", DatabaseCPU: true, Go: "go1.26", Cores: 2,
		Stages: []Stage{
			{Name: stageSQL, WallMillis: 16.77, CPUMillis: 20, Allocs: 128_595, AllocBytes: 5_484_000, Statements: 41, PeakBytes: 41 << 20},
			{Name: stageHTTP, WallMillis: 0.5, CPUMillis: 0.25, Allocs: 237, AllocBytes: 128_000, WireBytes: 344_200, PeakBytes: 38 << 20},
		},
		Ladder: []Step{
			{Rung: 1, Name: "slow", Statements: 26_604, APICalls: 31, WireBytes: 1_500_000, PeakBytes: 24 << 20, FileBytes: 900_000, SheetSHA256: "ab",
				cost: Cost{Wall: 30 * time.Second, CPU: 2 * time.Second, Allocs: 5_000_000, AllocBytes: 600_000_000}},
			{Rung: 2, Name: "fast", Statements: 41, APICalls: 5, WireBytes: 1_000_000, PeakBytes: 30 << 20, FileBytes: 900_000, SheetSHA256: "ab",
				cost: Cost{Wall: 120 * time.Millisecond, CPU: 200 * time.Millisecond, Allocs: 1_000_000, AllocBytes: 60_000_000}},
		},
	}
	r.finish()
	r.MaxResident = 103 << 20 // it is this process's otherwise
	return r
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestTheReportAsJSONAndAsTables(t *testing.T) {
	r := sampleReport()
	golden(t, "export.json", asJSON(t, r))
	var tables bytes.Buffer
	if err := r.Print(&tables); err != nil {
		t.Fatal(err)
	}
	golden(t, "export.txt", tables.Bytes())
}

func TestTheFileReportAsJSONAndAsATable(t *testing.T) {
	r := FileReport{
		Rows: 100_000, Columns: 20, FileBytes: 17_400_000, File: Taken{1.3, 2.4, 12_700_000, 720_000_000}, Alone: &Taken{0.05, 0.1, 390_000, 78_000_000},
		PeakBytes: 54 << 20, MaxResident: 76 << 20,
	}
	golden(t, "file.json", asJSON(t, r))
	var tables bytes.Buffer
	if err := r.Print(&tables); err != nil {
		t.Fatal(err)
	}
	golden(t, "file.txt", tables.Bytes())
}

func TestPrintTellsWhatItCannotWrite(t *testing.T) {
	r := sampleReport()
	full, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if err := r.Print(full); err == nil {
		t.Error("no error from a file that takes nothing")
	}
}
