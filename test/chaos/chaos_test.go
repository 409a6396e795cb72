package chaos

import (
	"fmt"
	"testing"
	"time"
)

// Each of these seeds is one round of faults over exports. Together they kill,
// stop and restart a process of each role, SQL and Redis, cut an order and a
// download, and let S3 fail.
var shortSeeds = []uint64{28, 33, 46}

// onset is the time in which a round's faults begin.
const onset = 2500 * time.Millisecond

// Whatever fails meanwhile, what holds afterwards is what is promised.
func TestChaosShort(t *testing.T) {
	c := newCampaign(t, 4000)
	for _, seed := range shortSeeds {
		c.strike(t, seed, 0, 5, 6)
	}
	c.end(t)
}

// strike runs the seed's round.
func (c *campaign) strike(t *testing.T, seed uint64, number, faults, exports int) {
	t.Helper()
	planned := plan(seed, number, faults, onset)
	for _, f := range planned {
		t.Logf("round %d/%d: %v", seed, number, f)
	}
	c.round(t, fmt.Sprintf("%d-%d", seed, number), planned, exports)
}
