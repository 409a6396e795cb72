package bench

import (
	"runtime"
	"time"

	"rowmill/export"
)

// Report is what a bench of the export found. Its JSON is for other programs:
// members may be added, none changes its meaning. Times of stages are for 1,000 rows.
type Report struct {
	Rows        int     `json:"rows"`
	Columns     int     `json:"columns"`
	PageSize    int     `json:"page_size"`
	Pool        int     `json:"pool"`
	Repeat      int     `json:"repeat"`
	RTTMillis   float64 `json:"rtt_ms"`
	APIMillis   float64 `json:"api_delay_ms"`
	Database    string  `json:"database"`     // "sqlite" or "mysql"
	DatabaseCPU bool    `json:"database_cpu"` // whether CPU holds the database's: SQLite runs in this process
	Go          string  `json:"go"`
	Cores       int     `json:"cores"`

	Stages []Stage `json:"stages,omitempty"`
	Ladder []Step  `json:"ladder"` // the last is the product

	MaxResident int64 `json:"max_resident_bytes"` // of the process, the making of the rows included
}

// Stage is a stage of the product's path, measured alone on one goroutine.
type Stage struct {
	Name       string  `json:"stage"`
	WallMillis float64 `json:"wall_ms_per_1000"`
	CPUMillis  float64 `json:"cpu_ms_per_1000"`
	Share      float64 `json:"share"` // of the product's CPU, 1 is all of it
	Allocs     float64 `json:"allocs_per_1000"`
	AllocBytes float64 `json:"alloc_bytes_per_1000"`
	WireBytes  float64 `json:"wire_bytes_per_1000"`
	Statements int64   `json:"statements"` // of all rows
	PeakBytes  int64   `json:"peak_bytes"` // the most that the Go runtime held as a piece of the stage ended
}

// Step is a rung of the ladder.
type Step struct {
	Rung          int     `json:"rung"`
	Name          string  `json:"name"`
	Seconds       float64 `json:"seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	RowsPerSecond float64 `json:"rows_per_second"`
	Statements    int64   `json:"statements"`
	APICalls      int64   `json:"api_calls"`
	WireBytes     int64   `json:"wire_bytes"` // between worker and reservation API, both ways
	Allocs        int64   `json:"allocs"`
	AllocBytes    int64   `json:"alloc_bytes"`
	PeakBytes     int64   `json:"peak_bytes"` // held by the Go runtime
	FileBytes     int64   `json:"file_bytes"`
	TimesFaster   float64 `json:"times_faster"` // than the first rung
	SheetSHA256   string  `json:"sheet_sha256"` // of the data sheets' XML; equal on all rungs

	cost    Cost
	receipt export.Receipt
}

func (b *bench) newReport() Report {
	c := b.cfg
	r := Report{
		Rows: c.Rows, Columns: len(b.request.Columns), PageSize: c.PageSize, Pool: c.Pool, Repeat: c.Repeat,
		RTTMillis: millis(c.RTT), APIMillis: millis(c.APIDelay), Database: "mysql", Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0),
	}
	if b.db.mine {
		r.Database, r.DatabaseCPU = "sqlite", true
	}
	return r
}

// finish works out what follows from the measured costs.
func (r *Report) finish() {
	for i := range r.Ladder {
		s := &r.Ladder[i]
		s.Seconds, s.CPUSeconds = s.cost.Wall.Seconds(), s.cost.CPU.Seconds()
		s.Allocs, s.AllocBytes = s.cost.Allocs, s.cost.AllocBytes
		s.RowsPerSecond = float64(r.Rows) / s.Seconds
		s.TimesFaster = r.Ladder[0].Seconds / s.Seconds
	}
	whole := r.whole()
	for i := range r.Stages {
		if whole.CPUSeconds > 0 { // where the system tells it
			r.Stages[i].Share = r.Stages[i].CPUMillis / r.per1000(whole.CPUSeconds*1000)
		}
	}
	r.MaxResident = maxResident()
}

// whole is the product's step.
func (r *Report) whole() Step { return r.Ladder[len(r.Ladder)-1] }

func (r *Report) per1000(x float64) float64 { return x * 1000 / float64(r.Rows) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
