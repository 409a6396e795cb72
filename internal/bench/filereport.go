package bench

import "io"

// FileReport is what a file from memory took.
type FileReport struct {
	Rows        int64  `json:"rows"`
	Columns     int    `json:"columns"`
	FileBytes   int64  `json:"file_bytes"`
	File        Taken  `json:"file"`            // the rows made and the file written
	Alone       *Taken `json:"alone,omitempty"` // the rows made or read and thrown away
	PeakBytes   int64  `json:"peak_bytes"`      // held by the Go runtime
	MaxResident int64  `json:"max_resident_bytes"`
}

// Taken is a Cost in plain units.
type Taken struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Allocs     int64   `json:"allocs"`
	AllocBytes int64   `json:"alloc_bytes"`
}

func taken(c Cost) Taken { return Taken{c.Wall.Seconds(), c.CPU.Seconds(), c.Allocs, c.AllocBytes} }

func (t Taken) minus(x Taken) Taken {
	return Taken{t.Seconds - x.Seconds, t.CPUSeconds - x.CPUSeconds, t.Allocs - x.Allocs, t.AllocBytes - x.AllocBytes}
}

// Print writes the report as a table for people.
func (r *FileReport) Print(w io.Writer) error {
	p := printer{w: w}
	p.line("%d rows, %d columns, %.1f MB\n\n", r.Rows, r.Columns, float64(r.FileBytes)/1e6)
	p.table("\tseconds\tCPU s\tallocations\tallocated MB\trows/s\t", func(row rowFunc) {
		taken := func(name string, t Taken) {
			row("%s\t%.3f\t%.3f\t%d\t%.0f\t%.0f\t", name, t.Seconds, t.CPUSeconds, t.Allocs, float64(t.AllocBytes)/1e6, float64(r.Rows)/t.Seconds)
		}
		taken("rows and file", r.File)
		if r.Alone != nil {
			taken("rows alone", *r.Alone)
			taken("the difference", r.File.minus(*r.Alone))
		}
	})
	p.line("\nmost memory: %d MB held by the Go runtime, %d MB resident\n", r.PeakBytes>>20, r.MaxResident>>20)
	return p.err
}
