package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"rowmill/test/third_party/axecore"
)

// Violation is an accessibility rule that a page breaks.
type Violation struct {
	Rule   string   `json:"rule"`   // axe-core's name, as "label"
	Impact string   `json:"impact"` // "serious" or "critical"
	Help   string   `json:"help"`
	Where  []string `json:"where"` // selectors of the elements
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s, at %q", v.Rule, v.Impact, v.Help, v.Where)
}

const runAxe = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
	.filter(v => ["serious", "critical"].includes(v.impact))
	.map(v => ({rule: v.id, impact: v.impact, help: v.help, where: v.nodes.map(n => n.target.flat().join(" "))})))`

// Axe gives the serious and critical faults that axe-core finds in the page as it
// stands. It runs in a world of its own: neither the page's policy nor its scripts
// can meddle, and the page does not see it.
func (p *Page) Axe() (found []Violation) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	found, err := chromedp.Run(ctx, axe)
	if err != nil {
		p.t.Fatalf("axe-core: %v", err)
	}
	return found
}

func axe(ctx context.Context, tab *chromedp.Target) (found []Violation, err error) {
	world, err := cdp.Call(ctx, tab, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(tab.TargetID), WorldName: "axe-core"})
	if err != nil {
		return nil, err
	}
	yes := true
	for _, script := range []string{axecore.Script + "\n;0", runAxe} {
		answer, err := cdp.Call(ctx, tab, runtime.Evaluate, runtime.EvaluateParams{
			Expression: script, ContextID: world.ExecutionContextID, AwaitPromise: &yes, ReturnByValue: &yes,
		})
		if err != nil {
			return nil, err
		}
		if answer.ExceptionDetails != nil {
			return nil, &chromedp.ExceptionError{ExceptionDetails: answer.ExceptionDetails}
		}
		if script == runAxe {
			err = jsonv2.Unmarshal([]byte(answer.Result.Value), &found)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
