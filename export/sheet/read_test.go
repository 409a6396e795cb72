package sheet_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// part gives the text of a part of an xlsx file.
func part(t *testing.T, file []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// columnName gives the letters of a column, from 0.
func columnName(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return columnName(i/26-1) + string(rune('A'+i%26))
}

// readSheet is a sheet as openpyxl reads it.
type readSheet struct {
	Name, Frozen, Filter string
	Selected             bool
	Width                float64
	Rows                 int
	Cells                []readCell
}

type readCell struct {
	Ref, Type, Format string
	Bold              bool
	Value             any
}

// readWorkbook reads a file with openpyxl.
func readWorkbook(t *testing.T, file []byte) (sheets []readSheet) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.xlsx")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/read.py", path)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("openpyxl (package python3-openpyxl) cannot read the file: %v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &sheets); err != nil {
		t.Fatal(err)
	}
	return sheets
}

// inflate gives the bytes of a chunk.
func inflate(t *testing.T, data []byte) []byte {
	t.Helper()
	r := flate.NewReader(bytes.NewReader(append(bytes.Clone(data), 1, 0, 0, 0xff, 0xff)))
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return text
}

var escape = regexp.MustCompile(`_x([0-9A-Fa-f]{4})_`)

// unescape reads the escapes of a cell's text (ECMA-376 part 1, 22.9.2.19) as
// spreadsheet programs do: from left to right, none in what another gave.
func unescape(s string) string {
	return escape.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.ParseUint(m[2:6], 16, 16) // four hex digits
		return string(rune(n))
	})
}
