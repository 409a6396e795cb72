package bench

import (
	"io"
	"runtime"
)

// CouponReport is what a bench of coupon prices found. Its JSON is for other programs:
// members may be added, none changes its meaning.
type CouponReport struct {
	Products  int     `json:"products"`
	Rules     int     `json:"rules"`
	Calls     int     `json:"calls"`
	RTTMillis float64 `json:"rtt_ms"`
	Redis     string  `json:"redis"` // "embedded", whose CPU counts as this process's, or "server"
	Go        string  `json:"go"`
	Cores     int     `json:"cores"`

	Ladder []CouponStep `json:"ladder"` // the last is the product
}

// CouponStep is a rung of the ladder; all but the factor is for one question.
type CouponStep struct {
	Rung        int     `json:"rung"`
	Name        string  `json:"name"`
	MeanMillis  float64 `json:"mean_ms"`
	P95Millis   float64 `json:"p95_ms"`
	CPUMillis   float64 `json:"cpu_ms"` // of this process, SQL included
	Commands    float64 `json:"redis_commands"`
	Trips       float64 `json:"redis_round_trips"`
	TimesFaster float64 `json:"times_faster"` // than the first rung, by the mean
}

func newCouponReport(c CouponConfig) CouponReport {
	r := CouponReport{Products: c.Products, Rules: c.Rules, Calls: c.Calls, RTTMillis: millis(c.RTT), Redis: "server", Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0)}
	if c.RedisURL == "" {
		r.Redis = "embedded"
	}
	return r
}

// Print writes the report as Markdown.
func (r *CouponReport) Print(w io.Writer) error {
	where := "a server; its CPU is not in the figures"
	if r.Redis == "embedded" {
		where = "in this process, its CPU included"
	}
	p := printer{w: w}
	p.line("Coupon prices of %d products by %d rules, %d questions a rung; %g ms added to each round trip to Redis; %d cores, %s; Redis %s.\n",
		r.Products, r.Rules, r.Calls, r.RTTMillis, r.Cores, r.Go, where)
	p.line("Each rung keeps what the ones above it changed; all gave the same answers.\n\n")
	p.line("| rung | | mean ms | p95 ms | CPU ms | Redis commands | round trips | × faster |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range r.Ladder {
		p.line("| %d | %s | %.2f | %.2f | %.2f | %.0f | %.0f | %.1f |\n", s.Rung, s.Name, s.MeanMillis, s.P95Millis, s.CPUMillis, s.Commands, s.Trips, s.TimesFaster)
	}
	return p.err
}
