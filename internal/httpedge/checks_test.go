package httpedge_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/httpedge"
)

func TestDependenciesAreAskedAtOnceForTwoSecondsEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		start := time.Now()
		failed := httpedge.Failing(t.Context(), map[string]func(context.Context) error{
			"silent": silent, "silent too": silent,
			"broken": func(context.Context) error { return errors.New("broken") },
			"well":   func(context.Context) error { return nil },
		})
		if d := cmp.Diff([]string{"broken", "silent", "silent too"}, slices.Sorted(maps.Keys(failed))); d != "" {
			t.Errorf("failing (-want +got):\n%s", d)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("asking takes %v", took)
		}
	})
}
