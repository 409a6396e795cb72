package cache

import (
	"context"
	"errors"
	"testing"
)

func TestTheFirstTierIsBounded(t *testing.T) {
	from := newSource()
	c := open(t, from, func(c *textConfig) { c.Size = 100 })
	for key := range int64(5000) {
		from.set(key, "value")
		wantGet(t, c, key, "value")
	}
	c.first.CleanUp()
	if got := c.first.EstimatedSize(); got == 0 || got > 100 {
		t.Errorf("%d values are held, want at most 100", got)
	}
}

func TestCloseEndsLoads(t *testing.T) {
	from := newSource()
	from.set(2, "kept")
	c := open(t, from)
	wantGet(t, c, 2, "kept")
	held := from.hold()
	got := make(chan error, 1)
	go func() { _, _, err := c.Get(t.Context(), 1); got <- err }()
	<-held
	c.Close()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("the load's waiter got %v", err)
	}
	wantGet(t, c, 2, "kept")
	if _, _, err := c.Get(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestALoadHasTheFirstCallersValues(t *testing.T) {
	type tag struct{}
	var seen any
	c := open(t, newSource(), func(c *textConfig) {
		c.Load = func(ctx context.Context, _ int64) (string, bool, error) {
			seen = ctx.Value(tag{})
			return "", false, nil
		}
	})
	if _, _, err := c.Get(context.WithValue(t.Context(), tag{}, "trace"), 1); err != nil {
		t.Fatal(err)
	}
	if seen != "trace" {
		t.Errorf("the load saw %v", seen)
	}
}

// Who found nothing while a flight was landing does not start another.
func TestWhatHasLandedMeanwhileIsNotLoadedAgain(t *testing.T) {
	from := newSource()
	from.set(1, "value")
	c := open(t, from)
	wantGet(t, c, 1, "value")
	e, f, err := c.board(t.Context(), 1, true)
	if f != nil || err != nil || e.value != "value" {
		t.Errorf("got %v, a flight %v, %v", e, f != nil, err)
	}
	wantLoads(t, from, 1)
}
