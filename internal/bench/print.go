package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the report as tables for people.
func (r *Report) Print(w io.Writer) error {
	database := "MySQL; its own CPU is not in the figures"
	if r.DatabaseCPU {
		database = "SQLite in this process, its CPU included"
	}
	p := printer{w: w}
	p.line("%d reservations, %d columns, pages of %d, %d pages at once; %d cores, %s; %s\n", r.Rows, r.Columns, r.PageSize, r.Pool, r.Cores, r.Go, database)
	if r.RTTMillis > 0 || r.APIMillis > 0 {
		p.line("added delays: %g ms a statement, %g ms an API call\n", r.RTTMillis, r.APIMillis)
	}
	r.printStages(&p)
	r.printLadder(&p)
	p.line("\nmost memory resident: %d MB in this process, making the rows included\n", r.MaxResident>>20)
	return p.err
}

func (r *Report) printStages(p *printer) {
	if len(r.Stages) == 0 {
		return
	}
	p.line("\nEach stage alone, on one goroutine, for 1,000 rows:\n")
	p.table("stage\twall ms\tCPU ms\tshare of CPU\tallocations\tallocated kB\twire kB\tpeak MB\tstatements in all\t", func(row rowFunc) {
		var sum Stage
		stage := func(s Stage) {
			row("%s\t%.2f\t%.2f\t%.1f %%\t%.0f\t%.0f\t%.1f\t%d\t%d\t", s.Name, s.WallMillis, s.CPUMillis, s.Share*100, s.Allocs, s.AllocBytes/1000, s.WireBytes/1000, s.PeakBytes>>20, s.Statements)
		}
		for _, s := range r.Stages {
			stage(s)
			sum.CPUMillis += s.CPUMillis
			sum.WallMillis += s.WallMillis
			sum.Share += s.Share
			sum.Allocs += s.Allocs
			sum.AllocBytes += s.AllocBytes
			sum.WireBytes += s.WireBytes
			sum.Statements += s.Statements
			sum.PeakBytes = max(sum.PeakBytes, s.PeakBytes)
		}
		sum.Name = "sum of the stages"
		stage(sum)
		s := r.whole()
		stage(Stage{
			"the whole, overlapped", r.per1000(s.Seconds * 1000), r.per1000(s.CPUSeconds * 1000), 1,
			r.per1000(float64(s.Allocs)), r.per1000(float64(s.AllocBytes)), r.per1000(float64(s.WireBytes)), s.Statements, s.PeakBytes,
		})
	})
}

func (r *Report) printLadder(p *printer) {
	p.line("\nThe ladder; each rung keeps what the ones above it changed, the last is the product:\n")
	p.table("rung\t\tseconds\tCPU s\trows/s\tstatements\tAPI calls\twire MB\tpeak MB\t× faster\tsame file\t", func(row rowFunc) {
		for _, s := range r.Ladder {
			same := "yes"
			if s.SheetSHA256 != r.Ladder[0].SheetSHA256 {
				same = "NO"
			}
			row("%d\t%s\t%.3f\t%.2f\t%.0f\t%d\t%d\t%.1f\t%d\t%.1f\t%s\t", s.Rung, s.Name, s.Seconds, s.CPUSeconds, s.RowsPerSecond,
				s.Statements, s.APICalls, float64(s.WireBytes)/1e6, s.PeakBytes>>20, s.TimesFaster, same)
		}
	})
}

// printer writes lines and tables until the first error.
type printer struct {
	w   io.Writer
	err error
}

type rowFunc func(format string, args ...any)

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) table(head string, rows func(row rowFunc)) {
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) } // Flush tells
	row("%s", head)
	rows(row)
	if err := t.Flush(); p.err == nil {
		p.err = err
	}
}
