package export

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBoundsAdmit(t *testing.T) {
	both := Bounds{Jobs: 10, Rows: 1000}
	for name, c := range map[string]struct {
		bounds Bounds
		load   Load
		rows   int64
		want   *FullError
	}{
		"nothing waits":                {both, Load{}, 5000, nil},
		"no bounds":                    {Bounds{}, Load{math.MaxInt32, math.MaxInt32}, 1, nil},
		"up to the bounds":             {both, Load{9, 900}, 100, nil},
		"a job too many":               {both, Load{10, 900}, 0, &FullError{TooManyQueuedJobs, 90}},
		"three jobs too many":          {both, Load{12, 1200}, 0, &FullError{TooManyQueuedJobs, 300}},
		"a row too many":               {both, Load{9, 900}, 101, &FullError{TooManyQueuedRows, 1}},
		"more rows than are to be had": {both, Load{9, 900}, 5000, &FullError{TooManyQueuedRows, 900}},
		"rows alone":                   {Bounds{Rows: 1000}, Load{1000, 900}, 200, &FullError{TooManyQueuedRows, 100}},
	} {
		var got *FullError
		if err := c.bounds.Admit(c.load, c.rows); err != nil && !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	rates := Rates{RowsPerSecond: 100}
	for rows, want := range map[int64]time.Duration{0: time.Second, -5: time.Second, 1000: 10*time.Second + 300*time.Millisecond, 1 << 40: 5 * time.Minute} {
		if got := rates.Wait(rows); got != want {
			t.Errorf("%d rows take %v, want %v", rows, got, want)
		}
	}
}
