package httpedge

import (
	"context"
	"sync"
	"time"
)

// checkTimeout is how long a dependency may take to say that it is well.
const checkTimeout = 2 * time.Second

// Failing asks every dependency at once, each for at most two seconds, and gives
// the errors of those that are not well, by their names.
func Failing(ctx context.Context, checks map[string]func(context.Context) error) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed = map[string]error{}
	)
	for name, check := range checks {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[name] = err
			}
		})
	}
	wg.Wait()
	return failed
}
