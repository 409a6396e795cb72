package main

import (
	"fmt"
	"io"
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
	line("seconds", "%s", secondsOf(r))
	line("memory", "%d MB at most in the worker's process", r.PeakMemory>>20)
	line("statements", "%d for %d pages", r.Statements, r.Pages)
	if r.Segments > 0 {
		line("segments", "%d: %d kept by an earlier attempt, %d made by helpers; %d pages fetched in this attempt", r.Segments, r.SegmentsReused, r.SegmentsElsewhere, r.PagesFetched)
	}
	return t.Flush()
}

// secondsOf gives the time in all, and that of each phase in which it may be long.
func secondsOf(r export.Receipt) string {
	total := 0.0
	for _, s := range r.Seconds {
		total += s
	}
	return fmt.Sprintf("%.2f: snapshot %.2f fetch %.2f verify %.2f", total,
		r.Seconds[export.PhaseSnapshot], r.Seconds[export.PhaseFetch], r.Seconds[export.PhaseVerify])
}
