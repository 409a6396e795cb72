package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// verdict is what an answer is worth.
type verdict uint8

const (
	right    verdict = iota // what was asked for
	wrong                   // something else, said to be what was asked for
	fallback                // the service's word that it cannot answer in time
	failed                  // an error, no answer, or one cut
	verdicts
)

// target is what is asked under load. judge is called from one goroutine.
type target struct {
	url   string
	judge func(status int, body []byte) verdict
}

// A step is held if it answers almost all that was asked, soon, and rightly.
const (
	heldWithin = time.Second // the 95th percentile
	heldShare  = 0.9         // of the asked rate
)

// Bounds of what asks: connections as a proxy would keep open, beyond which requests
// queue here, in the time that is measured; and more time than a service gives itself,
// so that its fallbacks are seen.
const (
	loadConns   = 256
	loadWorkers = 8192
	loadTimeout = 5 * time.Second
)

// LoadStep is what came of asking at a constant rate.
type LoadStep struct {
	Asked     int     `json:"asked_per_second"`
	Answered  float64 `json:"right_per_second"` // from the first question to the last answer
	P50Millis float64 `json:"p50_ms"`
	P95Millis float64 `json:"p95_ms"`
	Right     int     `json:"right"`
	Wrong     int     `json:"wrong"`
	Fallback  int     `json:"fallback"`
	Failed    int     `json:"failed"`
	Held      bool    `json:"held"`
}

// Why says what a step that was not held lacked.
func (s LoadStep) Why() string {
	switch {
	case s.Held:
		return ""
	case s.Wrong+s.Fallback+s.Failed > 0:
		return fmt.Sprintf("%d of %d answers were not right", s.Wrong+s.Fallback+s.Failed, s.Right+s.Wrong+s.Fallback+s.Failed)
	case s.P95Millis >= millis(heldWithin):
		return fmt.Sprintf("p95 %.0f ms", s.P95Millis)
	}
	return fmt.Sprintf("answered %.0f a second", s.Answered)
}

// tally adds up answers.
type tally struct {
	of          [verdicts]int
	took        []time.Duration
	first, last time.Time
}

func (t *tally) add(v verdict, began time.Time, took time.Duration) {
	t.of[v]++
	t.took = append(t.took, took)
	if t.first.IsZero() || began.Before(t.first) {
		t.first = began
	}
	if end := began.Add(took); end.After(t.last) {
		t.last = end
	}
}

// step says what a constant rate for so long came to.
func (t *tally) step(rate int, lasted time.Duration) LoadStep {
	s := LoadStep{Asked: rate, Right: t.of[right], Wrong: t.of[wrong], Fallback: t.of[fallback], Failed: t.of[failed]}
	if len(t.took) == 0 {
		return s
	}
	slices.Sort(t.took)
	s.P50Millis, s.P95Millis = millis(percentile(t.took, 50)), millis(percentile(t.took, 95))
	s.Answered = float64(s.Right) / max(t.last.Sub(t.first), lasted).Seconds()
	s.Held = s.Right == len(t.took) && s.P95Millis < millis(heldWithin) && s.Answered >= heldShare*float64(rate)
	return s
}

// percentile gives the nearest rank of what is sorted and not empty.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

// ask asks at the rate for so long, whether answers come or not, and waits for them.
func (t target) ask(ctx context.Context, rate int, lasting time.Duration) (LoadStep, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: loadConns, MaxConnsPerHost: loadConns, DisableCompression: true}
	defer transport.CloseIdleConnections()
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: transport, Timeout: loadTimeout}), vegeta.MaxWorkers(loadWorkers))
	stop := context.AfterFunc(ctx, func() { attacker.Stop() })
	defer stop()
	questions := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: t.url})
	var sum tally
	for answer := range attacker.Attack(questions, vegeta.Rate{Freq: rate, Per: time.Second}, lasting, "") {
		v := failed
		if answer.Code != 0 && !(answer.Code == http.StatusOK && answer.Error != "") { // an error beside 200 is an answer cut
			v = t.judge(int(answer.Code), answer.Body)
		}
		sum.add(v, answer.Timestamp, answer.Latency)
	}
	return sum.step(rate, lasting), context.Cause(ctx)
}

// stairs say at which rates to ask: from First on twice as much each time until a rate
// is not held, then between the last that was and the first that was not.
type stairs struct {
	First, Most int
	Finer       int // times that the gap is halved, unless it is small before
	Tries       int // a rate is not held if none of so many tries is
}

// smallGap ends the search: the rate is known to a twentieth.
const smallGap = 20

// climb gives all steps in the order they were run, and the highest that was held:
// its rate is 0 if none was. ask runs a step.
func (s stairs) climb(ask func(rate int) (LoadStep, error)) (steps []LoadStep, held LoadStep, err error) {
	try := func(rate int) (bool, error) {
		for range s.Tries {
			step, err := ask(rate)
			if err != nil {
				return false, err
			}
			steps = append(steps, step)
			if step.Held {
				held = step
				return true, nil
			}
		}
		return false, nil
	}
	broken := 0
	for rate := s.First; broken == 0 && rate <= s.Most; rate *= 2 {
		ok, err := try(rate)
		if err != nil {
			return nil, LoadStep{}, err
		}
		if !ok {
			broken = rate
		}
	}
	for range s.Finer {
		gap := broken - held.Asked
		if gap <= max(1, held.Asked/smallGap) { // negative if nothing broke
			break
		}
		ok, err := try(held.Asked + gap/2)
		if err != nil {
			return nil, LoadStep{}, err
		}
		if !ok {
			broken = held.Asked + gap/2
		}
	}
	return steps, held, nil
}
