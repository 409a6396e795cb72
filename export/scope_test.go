package export_test

import (
	"archive/zip"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export/sheet"
)

func TestASourceIsAskedForTheJobsScopeAlone(t *testing.T) {
	for _, scope := range []access.Scope{{}, {Properties: []int64{}}, {Properties: []int64{3}, Personal: true}} {
		b := newBench(t, &source{total: 30, page: 10})
		job := csvJob()
		job.Scope = scope
		if err := b.Run(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]access.Scope{scope, scope, scope, scope}, b.source.seen); diff != "" {
			t.Errorf("a snapshot and three pages (-want +got):\n%s", diff)
		}
	}
}

// Whoever gets a file at hand reads what it is and why it was made.
func TestTheInfoSheetTellsOfPersonalDataAndTheReason(t *testing.T) {
	plain := access.Scope{Personal: true}
	for _, c := range []struct {
		name, language, reason string
		scope                  access.Scope
		columns                []string
		has, lacks             []string
	}{
		{"masked", "en", "", access.Scope{}, []string{"id", "guest"}, []string{"Personal data", ">masked<"}, []string{"in the clear", "Reason"}},
		{"in the clear", "en", "Audit 2026 <3>", plain, []string{"guest"}, []string{"Personal data", ">in the clear<", "Reason", "Audit 2026 &lt;3&gt;"}, []string{"masked"}},
		{"without personal columns", "en", "why not", plain, []string{"id"}, []string{">none in these columns<", "why not"}, []string{"in the clear", "masked"}},
		{"masked, in Korean", "ko", "", access.Scope{}, []string{"guest"}, []string{"개인정보", "가림 처리됨"}, []string{"사유", "원본"}},
		{"in the clear, in Korean", "ko", "감사 요청", plain, []string{"guest"}, []string{"개인정보", "원본 그대로", "사유", "감사 요청"}, []string{"가림"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, &source{page: 10})
			job := csvJob()
			job.Scope = c.scope
			job.Request.Format, job.Request.Language, job.Request.Reason, job.Request.Columns = sheet.XLSX, c.language, c.reason, c.columns
			if err := b.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			info := part(t, b, "xl/sharedStrings.xml") // the data sheet has its texts in place
			for _, text := range c.has {
				if !strings.Contains(info, text) {
					t.Errorf("%q is not told:\n%s", text, info)
				}
			}
			for _, text := range c.lacks {
				if strings.Contains(info, text) {
					t.Errorf("%q is told:\n%s", text, info)
				}
			}
		})
	}
}

// part gives a part of the stored workbook.
func part(t *testing.T, b *bench, name string) string {
	t.Helper()
	z, err := zip.NewReader(mustOpen(t, b, b.attempts.file.Key), b.attempts.file.Size)
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
