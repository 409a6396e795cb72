package bench

import (
	"fmt"
	"io"
	"runtime"

	"rowmill/ingest"
)

// HomeReport is what a bench of the home board found. Its JSON is for other programs:
// members may be added, none changes its meaning.
type HomeReport struct {
	Sections    int     `json:"sections"`
	Items       int     `json:"items"`
	Products    int     `json:"products"`
	AnswerBytes int     `json:"answer_bytes"`
	RTTMillis   float64 `json:"rtt_ms"`
	StepSeconds float64 `json:"step_seconds"`
	Database    string  `json:"database"`   // "sqlite", whose CPU is this process's, or "mysql"
	ServerCPU   bool    `json:"server_cpu"` // whether that of MySQL is known
	Go          string  `json:"go"`
	Cores       int     `json:"cores"`

	Ladder []HomeStep `json:"ladder"` // the last is the product
}

// HomePart is what an answer took of the database.
type HomePart struct {
	Statements int64 `json:"statements"`
	Bytes      int64 `json:"bytes"` // of rows, as MySQL's text protocol has them
}

// HomeStep is a rung of the ladder.
type HomeStep struct {
	Rung int    `json:"rung"`
	Name string `json:"name"`

	First        HomePart `json:"first"` // the first answer, when nothing is kept
	Next         HomePart `json:"next"`  // the one after it
	AloneMillis  float64  `json:"alone_ms"`
	CPUMillis    float64  `json:"cpu_ms"`          // of this process for an answer, the asking included
	ServerMillis float64  `json:"database_cpu_ms"` // of MySQL's

	Steady LoadStep   `json:"steady"` // at the constant rate
	Held   LoadStep   `json:"held"`   // the highest rate that was held
	Steps  []LoadStep `json:"steps"`

	FromCopies int64 `json:"structures_from_copies"`
	FromOrigin int64 `json:"structures_loaded"`

	TimesHeld  float64 `json:"times_held"`  // of the first rung's rate
	BytesSaved float64 `json:"bytes_saved"` // of the first rung's, 1 is all
}

func (b *homeBench) newReport() HomeReport {
	r := HomeReport{
		Sections: ingest.HomeSections, Items: ingest.HomeItems, Products: ingest.HomeProducts, AnswerBytes: len(b.want), RTTMillis: millis(b.cfg.RTT),
		StepSeconds: b.cfg.Step.Seconds(), Database: "mysql", ServerCPU: b.server != nil, Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0),
	}
	if b.db.mine {
		r.Database = "sqlite"
	}
	return r
}

// times gives how many times more b is than a; 0 if that is not known.
func times(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return b / a
}

// finish works out what follows from what was measured.
func (r *HomeReport) finish() {
	first := r.Ladder[0]
	for i := range r.Ladder {
		s := &r.Ladder[i]
		s.TimesHeld = times(float64(first.Held.Asked), float64(s.Held.Asked))
		s.BytesSaved = 1 - times(float64(first.Next.Bytes), float64(s.Next.Bytes))
	}
}

// Print writes the report as Markdown.
func (r *HomeReport) Print(w io.Writer) error {
	p := printer{w: w}
	database := "MySQL"
	if r.Database == "sqlite" {
		database = "SQLite, whose CPU is the process's"
	}
	p.line("The home board: %d sections, which show %d products %d times; an answer of %d bytes; %s; %d cores, %s.\n", r.Sections, r.Products, r.Items, r.AnswerBytes, database, r.Cores, r.Go)
	if r.RTTMillis > 0 {
		p.line("%g ms are added to each statement.\n", r.RTTMillis)
	}
	p.line("Each rung keeps what the ones above it changed, but for the batch, which has nothing left to do at once. Server, database and the load generator share the cores.\n\n")
	r.printCosts(&p)
	if len(r.Ladder[0].Steps) > 0 {
		p.line("\n")
		r.printLoad(&p)
	}
	p.line("\n%s\n", r.verdict())
	return p.err
}

func (r *HomeReport) printCosts(p *printer) {
	p.line("| rung | one answer after the other | statements | kB from the database | less | ms | CPU ms | of the database, ms |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range r.Ladder {
		theirs := "unknown"
		switch {
		case r.Database == "sqlite":
			theirs = "within"
		case r.ServerCPU:
			theirs = fmt.Sprintf("%.2f", s.ServerMillis)
		}
		p.line("| %d | %s | %d | %.1f | %.1f %% | %.2f | %.2f | %s |\n", s.Rung, s.Name, s.Next.Statements, float64(s.Next.Bytes)/1000, s.BytesSaved*100, s.AloneMillis, s.CPUMillis, theirs)
	}
}

func (r *HomeReport) printLoad(p *printer) {
	p.line("| rung | under load, steps of %g s | p50/p95 ms at %d a second | held, a second | × the first | p95 ms there | not right in all steps: wrong, fallback, failed | not held |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
		r.StepSeconds, r.Ladder[0].Steady.Asked)
	for _, s := range r.Ladder {
		var all, next LoadStep // next: the lowest rate above the held one
		for _, step := range s.Steps {
			all.Wrong, all.Fallback, all.Failed = all.Wrong+step.Wrong, all.Fallback+step.Fallback, all.Failed+step.Failed
			if step.Asked > s.Held.Asked && (next.Asked == 0 || step.Asked < next.Asked) {
				next = step
			}
		}
		lacked := "none"
		if next.Asked > 0 {
			lacked = fmt.Sprintf("%d: %s", next.Asked, next.Why())
		}
		p.line("| %d | %s | %.1f / %.1f | **%d** | %.1f | %.0f | %d, %d, %d | %s |\n", s.Rung, s.Name, s.Steady.P50Millis, s.Steady.P95Millis,
			s.Held.Asked, s.TimesHeld, s.Held.P95Millis, all.Wrong, all.Fallback, all.Failed, lacked)
	}
}

// verdict says which gains are of what.
func (r *HomeReport) verdict() string {
	first, origin, product := r.Ladder[0], r.Ladder[len(r.Ladder)-2], r.Ladder[len(r.Ladder)-1]
	text := fmt.Sprintf("Cheaper origin, no copy of anything: from rung %d to %d, %d statements and %.1f kB instead of %d and %.1f kB",
		first.Rung, origin.Rung, origin.Next.Statements, float64(origin.Next.Bytes)/1000, first.Next.Statements, float64(first.Next.Bytes)/1000)
	if origin.TimesHeld > 0 {
		text += fmt.Sprintf(", %.1f × the rate", origin.TimesHeld)
	}
	text += fmt.Sprintf(". Hits: from rung %d to %d; %d of %d answers took the board's structure from a copy, all asked the database what is free, in %d statement and %.1f kB",
		origin.Rung, product.Rung, product.FromCopies, product.FromCopies+product.FromOrigin, product.Next.Statements, float64(product.Next.Bytes)/1000)
	if origin.Held.Asked > 0 {
		text += fmt.Sprintf(", %.1f × the rate of rung %d", times(float64(origin.Held.Asked), float64(product.Held.Asked)), origin.Rung)
	}
	return text + fmt.Sprintf("; its first answer, with nothing kept, took %d statements and %.1f kB.", product.First.Statements, float64(product.First.Bytes)/1000)
}
