// Package importgraph holds the test that keeps Rowmill's packages apart: who
// may import whom inside the module, and which package alone may import a library.
package importgraph

import (
	"maps"
	"slices"
	"strings"
)

const module = "rowmill/"

// graph is what each package imports, its tests not counted. Packages of the
// module are named without the module: "export/sheet".
type graph map[string][]string

// leaves are packages that know nothing of Rowmill's work; all but the core may
// import them.
var leaves = []string{"access", "internal/fault", "internal/table", "internal/pool", "internal/telemetry"}

// rules say what a package may import inside the module. "*" is every package.
// A package without a rule is an error: whoever adds one decides its place here.
var rules = map[string][]string{
	"cmd/rowmill": {"*"},

	// The core: the domain, the pipeline and the files know no adapter.
	"access":       {"internal/fault"},
	"audit":        {"access", "internal/fault"},
	"reservation":  {"access", "internal/fault", "internal/table"},
	"export/sheet": {"internal/fault", "internal/table"},
	"export":       with(leaves, "reservation", "export/sheet"),
	"grants":       with(leaves, "audit", "export"),
	"home":         with(leaves, "internal/batch", "internal/cache"),
	"coupon":       {"access", "internal/fault", "internal/table", "reservation"},

	// The adapters know the core and never each other.
	"reservation/reservationhttp": with(leaves, "coupon", "reservation", "export", "internal/httpedge"),
	"repository":                  with(leaves, "audit", "coupon", "reservation", "export", "export/sheet", "home", "migrations", "ingest"),
	"jobs":                        with(leaves, "export"),
	"gateway":                     with(leaves, "audit", "grants", "export", "export/sheet", "home", "reservation", "internal/httpedge"),
	"web":                         with(leaves, "audit", "export", "home", "reservation"),
	"internal/blob":               with(leaves, "export"),
	"signin":                      {"access", "internal/fault", "internal/httpedge"},
	"coupon/couponredis":          {"coupon", "internal/fault"},

	// It measures the whole path, so it wires it, as cmd does.
	"internal/bench": with(leaves, "coupon", "coupon/couponredis", "internal/embedded", "reservation", "reservation/reservationhttp", "repository", "export", "export/sheet", "internal/blob", "ingest", "home", "internal/batch", "internal/cache"),

	// Data that comes with the module.
	"ingest":     with(leaves, "coupon", "reservation"),
	"migrations": {},
	"sample":     {},
	"element":    {}, // the button and how it is served

	"internal/fault":     {},
	"internal/table":     {},
	"internal/pool":      {},
	"internal/telemetry": {},
	"internal/metrics":   {"export"},
	"internal/tracing":   {"internal/telemetry"},
	"internal/httpedge":  {},
	"internal/config":    {},
	"internal/embedded":  {},
	"internal/batch":     {},
	"internal/cache":     {"internal/fault"},
	"internal/testdb":    {},
	"internal/testoidc":  {},
	"internal/testproc":  {},
	"internal/browser":   {"test/third_party/axecore"},

	"test/chaos": {}, // all of it is tests, which see the product from outside

	// Other people's work, for tests only.
	"test/third_party/axecore": {},

	// A caller from outside: it knows the public API's shapes and nothing behind them.
	"internal/exportclient": {"export"},
}

// owners say which packages may import a library, by the start of its path; no
// other package may. cmd/rowmill wires everything, but speaks no SQL and writes no
// sheet.
var owners = map[string][]string{
	"gorm.io/":                           {"repository"},
	"github.com/glebarez/":               {"repository"},
	"github.com/pressly/goose":           {"repository"},
	"github.com/go-sql-driver/":          {"repository", "internal/testdb"},
	"database/sql":                       {"repository", "internal/testdb", "internal/bench"},
	"github.com/xuri/":                   {"export/sheet"},
	"github.com/hibiken/asynq":           {"jobs"},
	"github.com/redis/go-redis":          {"coupon/couponredis", "jobs", "internal/cache", "internal/testdb", "internal/bench"},
	"github.com/maypok86/otter":          {"internal/cache"},
	"github.com/sony/gobreaker":          {"internal/cache"},
	"github.com/alicebob/miniredis":      {"internal/embedded"},
	"github.com/labstack/echo":           {"gateway", "reservation/reservationhttp"},
	"github.com/danielgtaylor/huma":      {"gateway"},
	"github.com/alecthomas/kong":         {"cmd/rowmill", "internal/config"},
	"gocloud.dev/":                       {"internal/blob"},
	"github.com/aws/":                    {"internal/blob"},
	"github.com/tsenart/vegeta/":         {"internal/bench"},
	"go.uber.org/goleak":                 {},
	"github.com/google/go-cmp":           {},
	"testing":                            {"internal/testdb", "internal/testoidc", "internal/browser"},
	"github.com/coreos/go-oidc/":         {"signin"},
	"golang.org/x/oauth2":                {"signin"},
	"github.com/golang-jwt/":             {"internal/testoidc"},
	"github.com/go-jose/":                {"internal/testoidc"},
	"github.com/oauth2-proxy/mockoidc":   {"internal/testoidc"},
	"github.com/chromedp/":               {"internal/browser"},
	"net/http/httptest":                  {},
	"golang.org/x/tools/go/packages":     {},
	"github.com/RoaringBitmap/roaring/":  {"export"},
	"github.com/schollz/progressbar/":    {"cmd/rowmill"},
	"github.com/prometheus/":             {"internal/metrics"},
	"go.opentelemetry.io/":               {"internal/telemetry", "internal/tracing"},
	"go.opentelemetry.io/otel/sdk":       {"internal/tracing"},
	"go.opentelemetry.io/otel/exporters": {"internal/tracing"},
	"go.opentelemetry.io/contrib":        {},
	"github.com/Shopify/toxiproxy/":      {},
}

func with(these []string, more ...string) []string { return slices.Concat(these, more) }

// violations gives what in g is against the rules, in order, one line each.
func violations(g graph, rules, owners map[string][]string) (found []string) {
	for _, from := range slices.Sorted(maps.Keys(g)) {
		allowed, known := rules[from]
		if !known {
			found = append(found, from+" has no rule: say in rules what it may import")
		}
		for _, to := range g[from] {
			inside, own := strings.CutPrefix(to, module)
			switch {
			case own && known && !slices.Contains(allowed, inside) && !slices.Contains(allowed, "*"):
				found = append(found, from+" must not import "+inside)
			case !own && !owned(owners, from, to):
				found = append(found, from+" must not import the library "+to)
			}
		}
	}
	return found
}

// owned reports whether from may import the library; one that nobody owns is everybody's.
func owned(owners map[string][]string, from, library string) bool {
	for start, by := range owners {
		whole := library == strings.TrimSuffix(start, "/") || strings.HasPrefix(library, strings.TrimSuffix(start, "/")+"/")
		if whole && !slices.Contains(by, from) {
			return false
		}
	}
	return true
}
