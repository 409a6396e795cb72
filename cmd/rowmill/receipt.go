package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"rowmill/export"
	"rowmill/export/sheet"
)

// printReceipt says what is in the file.
func printReceipt(w io.Writer, path string, r export.Receipt) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label string, format string, args ...any) { _, _ = fmt.Fprintf(t, label+"\t"+format+"\n", args...) } // Flush tells
	line("file", "%s", path)
	line("rows", "%d of %d in the snapshot; %d distinct; %d deleted meanwhile", r.Written, r.Expected, r.Distinct, r.DeletedMeanwhile)
	line("snapshot", "%s", r.SnapshotAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	for _, kind := range []sheet.LossKind{sheet.Replaced, sheet.Cut, sheet.ZeroDate, sheet.DateAsText, sheet.DigitsAsText} {
		if n := r.Losses.Counts[kind]; n > 0 {
			line("cells "+string(kind), "%d", n)
		}
	}
	line("sheets", "%d", r.Sheets)
	line("size", "%d bytes", r.Bytes)
	line("sha-256", "%s", r.SHA256)
	phases := []export.Phase{export.PhaseSnapshot, export.PhaseFetch, export.PhaseVerify}
	line("seconds", "%s", secondsOf(r, phases))
	line("memory", "%d MB at most in the worker's process", r.PeakMemory>>20)
	line("statements", "%d for %d pages", r.Statements, r.Pages)
	return t.Flush()
}

func secondsOf(r export.Receipt, phases []export.Phase) string {
	total := 0.0
	var text strings.Builder
	for _, p := range slices.Sorted(slices.Values(phases)) {
		_, _ = fmt.Fprintf(&text, " %s %.2f", p, r.Seconds[p]) // never fails (strings.Builder)
	}
	for _, s := range r.Seconds {
		total += s
	}
	return fmt.Sprintf("%.2f:%s", total, text.String())
}
