package importgraph

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T) graph {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, out)
	}
	g := graph{}
	for line := range strings.Lines(string(out)) {
		if names := strings.Fields(line); len(names) > 0 {
			g[strings.TrimPrefix(names[0], module)] = names[1:]
		}
	}
	return g
}

func TestImports(t *testing.T) {
	g := load(t)
	if !slices.Contains(g["export"], module+"export/sheet") {
		t.Fatalf("the graph was not read rightly: export imports %v", g["export"])
	}
	for _, line := range violations(g, rules, owners) {
		t.Error(line)
	}
}

func TestLeavesAreLeaves(t *testing.T) {
	for _, leaf := range leaves {
		for _, to := range rules[leaf] {
			if !slices.Contains(leaves, to) {
				t.Errorf("%s may import %s, which is no leaf", leaf, to)
			}
		}
	}
}

// Every rule can fail: the import that it exists to forbid is found.
func TestEveryRuleForbids(t *testing.T) {
	forbidden := map[string][]string{
		"access":                      {"internal/table", "export", "reservation"},
		"audit":                       {"export", "reservation", "repository"},
		"reservation":                 {"export", "repository", "internal/telemetry"},
		"export/sheet":                {"export", "reservation", "internal/pool"},
		"export":                      {"repository", "jobs", "gateway", "internal/blob", "internal/config"},
		"grants":                      {"repository", "gateway", "jobs"},
		"home":                        {"repository", "gateway", "reservation"},
		"coupon":                      {"coupon/couponredis", "repository", "export", "reservation/reservationhttp"},
		"coupon/couponredis":          {"repository", "reservation", "jobs", "internal/embedded"},
		"reservation/reservationhttp": {"coupon/couponredis", "repository", "gateway", "jobs"},
		"repository":                  {"coupon/couponredis", "reservation/reservationhttp", "jobs", "gateway", "internal/config"},
		"jobs":                        {"repository", "gateway", "reservation", "internal/embedded"},
		"web":                         {"gateway", "repository", "jobs", "reservation/reservationhttp"},
		"gateway":                     {"repository", "jobs", "reservation/reservationhttp", "internal/blob"},
		"internal/blob":               {"repository", "reservation", "jobs"},
		"ingest":                      {"repository", "export"},
		"migrations":                  {"repository"},
		"sample":                      {"reservation"},
		"element":                     {"gateway"},
		"internal/fault":              {"internal/table"},
		"internal/table":              {"internal/fault"},
		"internal/pool":               {"export"},
		"internal/telemetry":          {"internal/fault"},
		"internal/metrics":            {"repository", "jobs", "internal/pool"},
		"internal/tracing":            {"internal/config", "export"},
		"internal/httpedge":           {"internal/fault", "gateway", "reservation"},
		"internal/config":             {"export"},
		"internal/embedded":           {"internal/fault"},
		"internal/batch":              {"repository", "reservation"},
		"internal/cache":              {"repository", "reservation", "internal/embedded"},
		"internal/testdb":             {"repository"},
		"internal/testoidc":           {"signin", "gateway"},
		"internal/testproc":           {"internal/config", "internal/testdb"},
		"test/chaos":                  {"gateway", "repository"},
		"signin":                      {"gateway", "audit", "repository", "internal/config"},
		"internal/browser":            {"gateway", "internal/testdb"},
		"test/third_party/axecore":    {"internal/browser"},
		"internal/exportclient":       {"gateway", "repository"},
		"internal/bench":              {"gateway", "jobs", "internal/config"},
	}
	for from := range rules {
		if len(forbidden[from]) == 0 && from != "cmd/rowmill" {
			t.Errorf("nothing shows that the rule of %s can fail", from)
		}
		for _, to := range forbidden[from] {
			want := []string{from + " must not import " + to}
			if diff := cmp.Diff(want, violations(graph{from: {module + to}}, rules, owners)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

func TestEveryLibraryIsKept(t *testing.T) {
	for start, by := range owners {
		library := strings.TrimSuffix(start, "/") + "/part"
		for from := range rules {
			want := []string{from + " must not import the library " + library}
			if slices.Contains(by, from) {
				want = nil
			}
			if diff := cmp.Diff(want, violations(graph{from: {library}}, rules, owners)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

func TestViolations(t *testing.T) {
	tests := []struct {
		name string
		g    graph
		want []string
	}{
		{"allowed", graph{"export": {"context", module + "reservation", module + "internal/fault"}}, nil},
		{"everything is for cmd", graph{"cmd/rowmill": {module + "jobs", module + "repository"}}, nil},
		{"the wired binary speaks no SQL", graph{"cmd/rowmill": {"gorm.io/gorm"}}, []string{"cmd/rowmill must not import the library gorm.io/gorm"}},
		{"a name that only starts alike", graph{"gateway": {"github.com/labstack/echoes", "testingx"}}, nil},
		{"unknown package", graph{"internal/helpers": {module + "jobs"}}, []string{"internal/helpers has no rule: say in rules what it may import"}},
		{"two faults", graph{"jobs": {"gorm.io/gorm", module + "gateway"}}, []string{
			"jobs must not import the library gorm.io/gorm", "jobs must not import gateway",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, violations(test.g, rules, owners)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
