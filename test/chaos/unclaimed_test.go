package chaos

import (
	"fmt"
	"testing"
	"time"
)

// A worker dies when it has taken a job's task from Redis and not yet claimed the
// job. Redis gives the task back some minutes later; the job does not wait for that.
func TestAWorkerKilledBetweenTakingATaskAndClaimingItsJob(t *testing.T) {
	t.Parallel()
	c := calm(t, fewRows)
	ctx, cancel := within(t, 45*time.Second)
	defer cancel()
	must(t, c.members["worker-2"].process.Stop())
	lift := c.put(ctx, t, "worker→sql", unheard, 0)
	o := &ordered{key: "unclaimed", shape: shapes[0]}
	c.submit(ctx, t, o)
	must(t, until(ctx, func() error {
		if n, err := c.keys.LLen(ctx, "asynq:{rowmill:large}:active").Result(); err != nil || n != 1 {
			return fmt.Errorf("%d tasks are taken: %w", n, err)
		}
		return nil
	}))
	must(t, c.members["worker-1"].process.Kill())
	lift()
	must(t, c.members["worker-1"].start(ctx))
	must(t, c.members["worker-2"].start(ctx))
	c.ended(ctx, t, o)
}
