//go:build chaos

package chaos

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

var (
	chaosSeed   = flag.Uint64("chaos.seed", 0, "seed of the faults; 0: the time")
	chaosFaults = flag.Int("chaos.faults", 300, "least number of faults")
	chaosRows   = flag.Int("chaos.rows", 70_000, "reservations; a whole wide export is then an upload in parts")
	chaosRecord = flag.String("chaos.record", "", "file that the record is written to besides; empty: none")
)

// A round of the long campaign.
const (
	longFaults  = 6
	longExports = 7
)

// TestChaosLong is not part of the tests of every day: `make chaos` runs it.
func TestChaosLong(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	fmt.Fprintf(os.Stdout, "chaos: seed %d\n", seed)
	c := newCampaign(t, *chaosRows)
	defer func() { c.tell(t, seed) }() // also when a round cannot be gone on from
	for number := 0; c.record.count() < *chaosFaults; number++ {
		c.strike(t, seed, number, longFaults, longExports)
	}
	if c.s3.parts.Load() == 0 {
		t.Error("no file was big enough for an upload in parts")
	}
	c.queuesEmpty(t)
	c.end(t)
}

// tell writes the campaign's record.
func (c *campaign) tell(t *testing.T, seed uint64) {
	t.Helper()
	text := c.record.markdown(seed, c.found.found)
	fmt.Fprintln(os.Stdout, text)
	if *chaosRecord == "" {
		return
	}
	if err := os.WriteFile(*chaosRecord, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// queuesEmpty waits until asynq has also let go of what killed workers ran: it
// takes a task for lost a minute after its worker was heard of last, and repeats
// it after a pause.
func (c *campaign) queuesEmpty(t *testing.T) {
	t.Helper()
	ctx, cancel := within(t, 10*time.Minute)
	defer cancel()
	every := func(q *asynq.QueueInfo) int { return q.Pending + q.Active + q.Scheduled + q.Retry + q.Archived }
	if err := until(ctx, func() error { return c.tasks(every) }); err != nil {
		c.found.add(t, "long after all jobs have ended: %v", err)
	}
}
