package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

// record is what a campaign has seen.
type record struct {
	rounds     int
	faults     map[string]int // by kind, an edge's with its name
	exports    map[export.Status]int
	failures   map[string]int // of failed exports, by code
	recoveries []time.Duration
}

func (r *record) add(faults []fault, jobs []exportclient.Job, recovery time.Duration) {
	if r.faults == nil {
		r.faults, r.exports, r.failures = map[string]int{}, map[export.Status]int{}, map[string]int{}
	}
	for _, j := range jobs {
		r.exports[j.Status]++
		if j.Failure != nil && j.Status == export.Failed {
			r.failures[j.Failure.Code]++
		}
	}
	if len(faults) == 0 {
		return // the calm begin
	}
	r.rounds++
	r.recoveries = append(r.recoveries, recovery)
	for _, f := range faults {
		r.faults[string(f.Kind)+" | "+f.Target]++
	}
}

func (r *record) count() (n int) {
	for _, k := range r.faults {
		n += k
	}
	return n
}

// markdown gives the record as docs/guarantees.md shows it.
func (r *record) markdown(seed uint64, violations []string) string {
	var b strings.Builder
	slices.Sort(r.recoveries)
	fmt.Fprintf(&b, "Seed %d: %d faults in %d rounds over %d exports: %d succeeded, %d failed in words, %d canceled as asked. Violations: %d.\n",
		seed, r.count(), r.rounds, r.exports[export.Succeeded]+r.exports[export.Failed]+r.exports[export.Canceled],
		r.exports[export.Succeeded], r.exports[export.Failed], r.exports[export.Canceled], len(violations))
	if len(r.failures) > 0 {
		fmt.Fprintf(&b, "Failed as: %v.\n", r.failures)
	}
	if n := len(r.recoveries); n > 0 {
		fmt.Fprintf(&b, "From a round's last fault to its last job's end: %s in the median, %s at most.\n", round(r.recoveries[n/2]), round(r.recoveries[n-1]))
	}
	b.WriteString("\n| fault | of what, and how often | times |\n| --- | --- | ---: |\n")
	byKind := map[string][]string{}
	times := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		k, target, _ := strings.Cut(name, " | ")
		byKind[k] = append(byKind[k], fmt.Sprintf("%s %d", target, r.faults[name]))
		times[k] += r.faults[name]
	}
	for _, k := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", k, strings.Join(byKind[k], ", "), times[k])
	}
	for _, v := range violations {
		fmt.Fprintf(&b, "\n- %s", v)
	}
	return b.String()
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
