package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

const deployed = "../../deploy/"

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// known gives the labels of each series that the product has, its histograms' too.
func known(t *testing.T) map[string][]string {
	t.Helper()
	families, err := used(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{"up": nil}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		series[f.GetName()] = labels
		if f.GetType() == dto.MetricType_HISTOGRAM {
			series[f.GetName()+"_bucket"], series[f.GetName()+"_sum"], series[f.GetName()+"_count"] = append(labels, "le"), labels, labels
		}
	}
	return series
}

var (
	grouping = regexp.MustCompile(`\b(?:by|without)\s*\(([^)]*)\)`)
	selector = regexp.MustCompile(`\b([a-z_][a-z0-9_]*)\s*(?:\{([^}]*)\})?\s*(\(|\[|)`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*[=!]~?`)
	quoted   = regexp.MustCompile(`"[^"]*"`)
)

// words of the language that look like series.
var words = []string{"by", "without", "or", "and", "unless", "le", "on", "ignoring", "bool", "offset"}

// wrongIn gives what an expression asks for that there is not.
func wrongIn(series map[string][]string, expr string) (wrong []string) {
	scraped := []string{"instance", "job"}
	groups := grouping.FindAllStringSubmatch(expr, -1)
	bare := quoted.ReplaceAllString(grouping.ReplaceAllString(expr, " "), `""`)
	bare = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(bare, "[]")
	var labels []string
	found := 0
	for _, s := range selector.FindAllStringSubmatch(bare, -1) {
		if slices.Contains(words, s[1]) || s[3] == "(" || matcherOf(bare, s[1]) {
			continue
		}
		found++
		has, ok := series[s[1]]
		if !ok {
			wrong = append(wrong, "there is no "+s[1])
			continue
		}
		labels = append(labels, has...)
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(append(has, scraped...), m[1]) {
				wrong = append(wrong, s[1]+" has no label "+m[1])
			}
		}
	}
	if found == 0 {
		wrong = append(wrong, "it asks for nothing")
	}
	for _, g := range groups {
		for l := range strings.SplitSeq(g[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(append(labels, scraped...), l) {
				wrong = append(wrong, "nothing has the label "+l)
			}
		}
	}
	return wrong
}

// matcherOf reports whether the word stands in a selector's braces.
func matcherOf(expr, word string) bool {
	return regexp.MustCompile(`[{,]\s*` + word + `\s*[=!]`).MatchString(expr)
}

func TestAWrongExpressionIsFound(t *testing.T) {
	series := known(t)
	for expr, want := range map[string]int{
		`max(rowmill_workers) == 0`: 0,
		`sum by (code) (increase(rowmill_jobs_ended_total{outcome="failed",code!~"invalid"}[15m])) > 0`:                     0,
		`histogram_quantile(0.9, sum by (le, call) (rate(rowmill_api_call_seconds_bucket{call=~"a|b"}[$__rate_interval])))`: 0,
		`max(rowmill_worker) == 0`:                             1,
		`sum(rate(rowmill_api_call_seconds_total[5m]))`:        1,
		`rowmill_jobs{status="queued"}`:                        1,
		`sum by (user) (rate(rowmill_rows_written_total[5m]))`: 1,
		`1 > 0`: 1,
	} {
		if got := wrongIn(series, expr); len(got) != want {
			t.Errorf("%s: %v, want %d", expr, got, want)
		}
	}
}

// Each metric and label that dashboard and alerts ask for is one that there is.
func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	series := known(t)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, deployed+"grafana/rowmill.json")), &board); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
			for _, w := range wrongIn(series, target.Expr) {
				t.Errorf("dashboard, %s: %s", p.Title, w)
			}
		}
	}
	alerts := read(t, deployed+"prometheus/alerts.yml")
	exprs := regexp.MustCompile(`(?m)^ +expr: (>-\n(?:          .*\n)+|.*)`).FindAllStringSubmatch(alerts, -1)
	if rules := strings.Count(alerts, "- alert: "); len(exprs) != rules || rules < 10 {
		t.Fatalf("%d expressions of %d alerts are read", len(exprs), rules)
	}
	for _, e := range exprs {
		expr := strings.TrimPrefix(e[1], ">-")
		for _, w := range wrongIn(series, expr) {
			t.Errorf("alert, %s: %s", strings.TrimSpace(expr), w)
		}
	}
	shown := strings.Join(all, "\n")
	for name := range series {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(base, "rowmill_") && !strings.Contains(shown, base) {
			t.Errorf("the dashboard does not show %s", base)
		}
	}
}

// Whoever is woken by an alert finds what to do, and by a command that there is.
func TestEachAlertLeadsToItsPlaceInTheRunbook(t *testing.T) {
	alerts, runbook := read(t, deployed+"prometheus/alerts.yml"), read(t, "../../docs/runbook.md")
	anchors := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(runbook, -1) {
		anchors[strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	links := regexp.MustCompile(`runbook: docs/runbook\.md#([a-z-]+)`).FindAllStringSubmatch(alerts, -1)
	if rules := strings.Count(alerts, "- alert: "); len(links) != rules {
		t.Errorf("%d of %d alerts name their place", len(links), rules)
	}
	for _, l := range links {
		if !anchors[l[1]] {
			t.Errorf("the runbook has no %s", l[1])
		}
	}
	for _, a := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(alerts, -1) {
		if !strings.Contains(runbook, "`"+a[1]+"`") {
			t.Errorf("the runbook does not speak of %s", a[1])
		}
	}
	for _, m := range regexp.MustCompile("`(rowmill_[a-z_]+)").FindAllStringSubmatch(runbook, -1) {
		if _, ok := known(t)[m[1]]; !ok {
			t.Errorf("the runbook speaks of %s, which there is not", m[1])
		}
	}
}

// Prometheus' own tool, where it is installed, checks the rules and runs their tests.
func TestPromtoolTakesTheRules(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Logf("promtool is not installed; the rules are checked by their names alone: %v", err)
		return
	}
	dir := filepath.Join(deployed, "prometheus")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
