package bench

import (
	"context"
	"runtime"
	"sync"
	"time"

	"rowmill/internal/telemetry"
)

// Cost is what a piece of work took of this process.
type Cost struct {
	Wall       time.Duration
	CPU        time.Duration // user and system, all threads
	Allocs     int64         // objects
	AllocBytes int64
}

func (c *Cost) add(x Cost) {
	c.Wall += x.Wall
	c.CPU += x.CPU
	c.Allocs += x.Allocs
	c.AllocBytes += x.AllocBytes
}

func (c Cost) minus(x Cost) Cost {
	return Cost{c.Wall - x.Wall, c.CPU - x.CPU, c.Allocs - x.Allocs, c.AllocBytes - x.AllocBytes}
}

// measure gives what f took. Work of other goroutines at the same time counts too.
func measure(f func() error) (Cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := processCPU(), time.Now()
	err := f()
	c := Cost{Wall: time.Since(start), CPU: processCPU() - cpu}
	runtime.ReadMemStats(&after)
	c.Allocs, c.AllocBytes = int64(after.Mallocs-before.Mallocs), int64(after.TotalAlloc-before.TotalAlloc)
	return c, err
}

// peakEvery is short beside a page, which takes some milliseconds at least.
const peakEvery = 2 * time.Millisecond

// peakOf runs f and gives the most memory that the process was seen to hold
// meanwhile.
func peakOf(ctx context.Context, f func() error) (peak int64, err error) {
	ctx, stop := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() {
		ticks := time.NewTicker(peakEvery)
		defer ticks.Stop()
		for {
			peak = max(peak, telemetry.HeldMemory())
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
	})
	err = f()
	stop()
	sampler.Wait()
	return max(peak, telemetry.HeldMemory()), err
}
