package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStairs(t *testing.T) {
	tests := []struct {
		name     string
		stairs   stairs
		capacity int
		want     []int
		held     int
	}{
		{"doubling alone", stairs{First: 5, Most: 1000, Tries: 1}, 33, []int{5, 10, 20, 40}, 20},
		{"then finer", stairs{First: 5, Most: 1000, Finer: 3, Tries: 1}, 33, []int{5, 10, 20, 40, 30, 35, 32}, 32},
		{"fine enough", stairs{First: 100, Most: 1000, Finer: 9, Tries: 1}, 333, []int{100, 200, 400, 300, 350, 325, 337}, 325},
		{"each that is not held again", stairs{First: 5, Most: 1000, Finer: 1, Tries: 2}, 6, []int{5, 10, 10, 7, 7}, 5},
		{"nothing breaks", stairs{First: 5, Most: 20, Finer: 3, Tries: 1}, 99, []int{5, 10, 20}, 20},
		{"not even the first", stairs{First: 8, Most: 20, Finer: 9, Tries: 1}, 3, []int{8, 4, 2, 3}, 3},
		{"none", stairs{First: 4, Most: 20, Finer: 9, Tries: 1}, 0, []int{4, 2, 1}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked []int
			steps, held, err := test.stairs.climb(func(rate int) (LoadStep, error) {
				asked = append(asked, rate)
				return LoadStep{Asked: rate, Held: rate <= test.capacity}, nil
			})
			if diff := cmp.Diff(test.want, asked); diff != "" || err != nil || held.Asked != test.held || len(steps) != len(asked) {
				t.Errorf("held %d, %d steps, error %v (-want +got):\n%s", held.Asked, len(steps), err, diff)
			}
		})
	}
	stopped := errors.New("stopped")
	for ending := range 3 { // while doubling, and while bisecting
		left := ending
		_, _, err := stairs{First: 5, Most: 10, Finer: 5, Tries: 1}.climb(func(rate int) (LoadStep, error) {
			if left--; left < 0 {
				return LoadStep{}, stopped
			}
			return LoadStep{Asked: rate, Held: rate < 10}, nil
		})
		if !errors.Is(err, stopped) {
			t.Errorf("after %d steps: %v", ending, err)
		}
	}
}

func TestWhatAStepComesTo(t *testing.T) {
	const n = 100
	start := time.Unix(0, 0)
	// A second of a hundred questions, of which the last few are slow, end late or are not right.
	tell := func(slow int, took time.Duration, v verdict) LoadStep {
		var sum tally
		for i := range n {
			if i < n-slow {
				sum.add(right, start.Add(time.Duration(i)*10*time.Millisecond), 2*time.Millisecond)
				continue
			}
			sum.add(v, start.Add(time.Duration(i)*10*time.Millisecond), took)
		}
		return sum.step(n, time.Second)
	}
	fine := LoadStep{Asked: n, Answered: n, P50Millis: 2, P95Millis: 2, Right: n, Held: true}
	with := func(change func(s *LoadStep)) LoadStep {
		s := fine
		change(&s)
		return s
	}
	tests := []struct {
		name string
		got  LoadStep
		want LoadStep
		why  string
	}{
		{"all is well", tell(0, 0, right), fine, ""},
		{"a few are slow", tell(5, 90*time.Millisecond, right), with(func(s *LoadStep) { s.Answered = n / 1.08 }), ""},
		{"more are slow", tell(6, time.Second, right), with(func(s *LoadStep) { s.Answered, s.P95Millis, s.Held = n/1.99, 1000, false }), "p95 1000 ms"},
		{"the last ends late", tell(1, 200*time.Millisecond, right), with(func(s *LoadStep) { s.Answered, s.Held = n/1.19, false }), "answered 84 a second"},
		{"one is wrong", tell(1, time.Millisecond, wrong), with(func(s *LoadStep) { s.Answered, s.Right, s.Wrong, s.Held = 99, 99, 1, false }), "1 of 100 answers were not right"},
		{"two are fallbacks", tell(2, time.Millisecond, fallback), with(func(s *LoadStep) { s.Answered, s.Right, s.Fallback, s.Held = 98, 98, 2, false }), "2 of 100 answers were not right"},
		{"no answer at all", (&tally{}).step(n, time.Second), LoadStep{Asked: n}, "answered 0 a second"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.got, cmpopts.EquateApprox(0, 1e-9)); diff != "" || test.got.Why() != test.why {
			t.Errorf("%s: %q (-want +got):\n%s", test.name, test.got.Why(), diff)
		}
	}
}

func TestAskingCountsEachKindOfAnswer(t *testing.T) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 5 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			_, _ = w.Write([]byte("something else"))
		case 3:
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("boa")) // an answer cut
		default:
			_, _ = w.Write([]byte("board"))
		}
	}))
	defer server.Close()
	got, err := target{server.URL, judgeBy([]byte("board"))}.ask(t.Context(), 100, 100*time.Millisecond)
	all := got.Right + got.Wrong + got.Fallback + got.Failed
	if err != nil || all != int(n.Load()) || all < 5 || got.Right != all/5 || got.Fallback != all/5 || got.Held {
		t.Errorf("of %d: %+v, error %v", n.Load(), got, err)
	}
	if most := 2*(all/5) + min(2, all%5); got.Failed < 2*(all/5) || got.Failed > most || got.Wrong < all/5 {
		t.Errorf("of %d: %+v", all, got)
	}
}

func TestAskingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(gone) }))
	defer server.Close()
	if _, err := (target{server.URL, judgeBy(nil)}).ask(ctx, 10, time.Hour); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
