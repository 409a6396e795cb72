package bench

import (
	"strings"
	"testing"
)

// homeLadder is a report of round figures.
func homeLadder(load bool) *HomeReport {
	r := &HomeReport{Sections: 37, Items: 232, Products: 79, AnswerBytes: 5000, StepSeconds: 3, Database: "mysql", Go: "go1", Cores: 2}
	for i, of := range []struct {
		name        string
		first, next HomePart
		held        int
	}{
		{"baseline", HomePart{51, 2_000_000}, HomePart{51, 2_000_000}, 10},
		{"origin", HomePart{4, 20_000}, HomePart{4, 20_000}, 160},
		{"product", HomePart{4, 20_000}, HomePart{1, 4_000}, 640},
	} {
		s := HomeStep{Rung: i + 1, Name: of.name, First: of.first, Next: of.next}
		if load {
			s.Held = LoadStep{Asked: of.held, Right: of.held, P95Millis: 9, Held: true}
			s.Steps = []LoadStep{s.Held, {Asked: of.held * 2, Right: 1, Wrong: 2, Fallback: 3, Failed: 4, P95Millis: 10}}
			s.Steady = LoadStep{Asked: 5, Right: 15, P50Millis: 1, P95Millis: 2, Held: true}
		}
		r.Ladder = append(r.Ladder, s)
	}
	r.Ladder[2].FromCopies, r.Ladder[2].FromOrigin = 99, 1
	r.finish()
	return r
}

func printed(t *testing.T, r *HomeReport) string {
	t.Helper()
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A gain of hits is not told as one of a cheaper origin, nor the other way round.
func TestTheHomeReportTellsHitsFromACheaperOrigin(t *testing.T) {
	const (
		origin = "Cheaper origin, no copy of anything: from rung 1 to 2, 4 statements and 20.0 kB instead of 51 and 2000.0 kB"
		hits   = "Hits: from rung 2 to 3; 99 of 100 answers took the board's structure from a copy, all asked the database what is free, in 1 statement and 4.0 kB"
		cold   = "; its first answer, with nothing kept, took 4 statements and 20.0 kB.\n"
	)
	tests := []struct {
		name string
		load bool
		want string
	}{
		{"costs alone", false, "\n" + origin + ". " + hits + cold},
		{"with load", true, "\n" + origin + ", 16.0 × the rate. " + hits + ", 4.0 × the rate of rung 2" + cold},
	}
	for _, test := range tests {
		if got := printed(t, homeLadder(test.load)); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: does not end with %q:\n%s", test.name, test.want, got)
		}
	}
}

// The tables are Markdown, and count fallbacks apart from wrong answers.
func TestTheHomeReportIsMarkdown(t *testing.T) {
	got := printed(t, homeLadder(true))
	for _, want := range []string{
		"\n\n| rung | one answer after the other |", "\n\n| rung | under load, steps of 3 s |",
		"| 3 | product | 1 | 4.0 | 99.8 % |",
		"| 2 | origin | 1.0 / 2.0 | **160** | 16.0 | 9 | 2, 3, 4 | 320: 9 of 10 answers were not right |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var columns int
	for line := range strings.Lines(got) {
		n := strings.Count(line, "|")
		if n > 0 && columns > 0 && n != columns {
			t.Errorf("a row with %d bars below one with %d: %s", n, columns, line)
		}
		columns = n
	}
	if got := printed(t, homeLadder(false)); strings.Contains(got, "under load") {
		t.Errorf("costs alone, with a table of load:\n%s", got)
	}
}
