package bench

import (
	"errors"
	"testing"
)

var kept [][]byte

func TestMeasureCountsWhatIsAllocated(t *testing.T) {
	failed := errors.New("failed")
	c, err := measure(func() error {
		kept = nil
		for range 1000 {
			kept = append(kept, make([]byte, 4096))
		}
		return failed
	})
	if c.Allocs < 1000 || c.AllocBytes < 1000*4096 || c.Wall <= 0 || !errors.Is(err, failed) {
		t.Errorf("got %+v, error %v", c, err)
	}
}

func TestPeakSeesWhatIsHeld(t *testing.T) {
	const size = 64 << 20
	failed := errors.New("failed")
	peak, err := peakOf(t.Context(), func() error {
		block := make([]byte, size)
		for i := range block { // until each page of it is there
			block[i] = 1
		}
		kept = [][]byte{block}
		return failed
	})
	if peak < size || !errors.Is(err, failed) {
		t.Errorf("a peak of %d bytes with %d held, error %v", peak, size, err)
	}
}

func TestCostsAddAndSubtract(t *testing.T) {
	a, b := Cost{5, 7, 11, 13}, Cost{1, 2, 3, 4}
	sum := a
	sum.add(b)
	if sum != (Cost{6, 9, 14, 17}) || sum.minus(b) != a {
		t.Errorf("the sum is %+v, less %+v it is %+v", sum, b, sum.minus(b))
	}
}
