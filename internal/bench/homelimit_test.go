package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"rowmill/home"
)

// Costs are wanted however slow a rung is; under load a question may take no longer
// than the product lets it.
func TestTheLimitOfAHomeAnswerHoldsUnderLoadAlone(t *testing.T) {
	for _, load := range []bool{false, true} {
		board := home.Board{AsOf: homeMoment, Day: homeDay}
		want, err := answerOf(board)
		if err != nil {
			t.Fatal(err)
		}
		var patient, limited atomic.Int64
		rung := homeRung{"one", func(*homeHits) (boards, func() error, error) {
			answer := boardFunc(func(ctx context.Context, _ time.Time) (home.Board, error) {
				switch end, ok := ctx.Deadline(); {
				case !ok:
					t.Error("an answer has no limit at all")
				case time.Until(end) > homeLimit:
					patient.Add(1)
				default:
					limited.Add(1)
				}
				return board, nil
			})
			return answer, func() error { return nil }, nil
		}}
		c := cheap
		c.Load, c.Start, c.Most = load, 100, 100
		b := &homeBench{cfg: c, note: quiet, db: openTest(t, ""), want: want}
		step, err := b.measure(t.Context(), rung)
		if err != nil {
			t.Fatal(err)
		}
		asked := int64(0)
		for _, s := range append(step.Steps, step.Steady) {
			asked += int64(s.Right)
		}
		if patient.Load() < 3 || limited.Load() != asked || (asked > 0) != load {
			t.Errorf("load %v: %d answers with patience, %d within the limit, %d asked under load", load, patient.Load(), limited.Load(), asked)
		}
	}
}
