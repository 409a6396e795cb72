package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kind is what goes wrong.
type kind string

// Faults of an edge.
const (
	cut       kind = "cut"                // answers are cut by a reset
	blackhole kind = "no answers"         // answers vanish
	unheard   kind = "no requests"        // requests vanish
	latency   kind = "latency"            // of Size ms and jitter
	slow      kind = "slow answers"       // Size KB/s
	slowUp    kind = "slow requests"      // Size KB/s
	half      kind = "half answers"       // cut after Size bytes
	halfUp    kind = "half requests"      // cut after Size bytes
	down      kind = "connection refused" // and what is open is cut
)

// Faults of a process of the product; all but the last start it anew when they are over.
const (
	killed     kind = "SIGKILL"
	terminated kind = "SIGTERM"
	stopped    kind = "SIGSTOP" // longer than a lease, then SIGCONT
)

// Faults of the servers.
const (
	sqlReadOnly  kind = "read-only"
	sqlCrowded   kind = "no connection free"
	sqlKills     kind = "connections killed"
	sqlLocks     kind = "rows locked"
	sqlStopped   kind = "SQL SIGSTOP"
	sqlRestarted kind = "SQL killed and started"

	redisFlushed   kind = "FLUSHALL"
	redisPaused    kind = "CLIENT PAUSE"
	redisStopped   kind = "Redis SIGSTOP"
	redisRestarted kind = "Redis killed and started empty"

	storeErrors     kind = "S3 answers 500"
	storeLastFails  kind = "S3 fails at an object's end"
	storeAnswerLost kind = "S3's answers are lost"
	storeSlow       kind = "S3 slow"
)

// Faults of a client.
const (
	orderCut    kind = "cut before the order's answer" // then ordered again under its key
	downloadCut kind = "download cut midway"           // then resumed
	canceled    kind = "canceled"                      // no fault, but it falls into them
)

// fault is one thing that goes wrong, at a time from the round's begin, and for how long.
type fault struct {
	Target string
	Kind   kind
	At     time.Duration
	For    time.Duration
	Size   int // what the kind says
}

func (f fault) String() string {
	return fmt.Sprintf("%-24s %-32s at %5s for %5s size %d", f.Target, f.Kind, f.At, f.For, f.Size)
}

// lease is the leases' length in the campaign, the shortest that the product takes.
const lease = 2 * time.Second

var edgeKinds = []kind{cut, blackhole, unheard, latency, slow, slowUp, half, halfUp, down}

// targets are what faults befall, each with its kinds.
var targets = func() map[string][]kind {
	all := map[string][]kind{
		"sql":    {sqlReadOnly, sqlCrowded, sqlKills, sqlLocks, sqlStopped, sqlRestarted},
		"redis":  {redisFlushed, redisPaused, redisStopped, redisRestarted},
		"s3":     {storeErrors, storeLastFails, storeAnswerLost, storeSlow},
		"client": {orderCut, downloadCut, canceled},
	}
	for _, name := range edgeNames {
		all[name] = edgeKinds
	}
	for _, name := range processNames {
		all[name] = []kind{killed, terminated, stopped}
	}
	return all
}()

var (
	edgeNames = []string{
		"gateway→sql", "gateway→redis", "gateway→reservations", "gateway→s3",
		"worker→sql", "worker→redis", "worker→reservations", "worker→s3",
		"reservations→sql", "client→gateway",
	}
	processNames = []string{"gateway-1", "gateway-2", "worker-1", "worker-2", "reservations"}
	serverNames  = []string{"sql", "redis", "s3", "client"}
)

// plan gives the faults of a seed's round: n of them on different targets, in the
// order of their begin. The same seed and round give the same faults, always.
func plan(seed uint64, round, n int, within time.Duration) []fault {
	dice := rand.New(rand.NewPCG(seed, uint64(round)))
	var faults []fault
	taken := map[string]bool{}
	for len(faults) < n {
		// A third each: else the many edges would drown the rest.
		pool := [][]string{edgeNames, processNames, serverNames}[dice.IntN(3)]
		target := pool[dice.IntN(len(pool))]
		f := fault{Target: target, Kind: targets[target][dice.IntN(len(targets[target]))]}
		f.At = time.Duration(dice.Int64N(int64(within))).Round(10 * time.Millisecond)
		f.For, f.Size = length(dice, f.Kind), size(dice, f.Kind)
		if taken[target] {
			continue
		}
		taken[target] = true
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return int(a.At - b.At) })
	return faults
}

// length is how long a fault lasts.
func length(dice *rand.Rand, k kind) time.Duration {
	d := 200*time.Millisecond + time.Duration(dice.Int64N(int64(1800*time.Millisecond)))
	switch k {
	case redisFlushed, orderCut, downloadCut, canceled:
		return 0 // a moment
	case stopped:
		d += lease
	}
	return d.Round(10 * time.Millisecond)
}

func size(dice *rand.Rand, k kind) int {
	n := dice.IntN(1000)
	switch k {
	case latency:
		return 100 + n/2
	case slow, slowUp:
		return 1 + n/50
	case half, halfUp:
		return n * 4
	}
	return 0
}

func TestASeedIsASequenceOfFaults(t *testing.T) {
	seen := map[kind]bool{}
	for round := range 200 {
		first := plan(7, round, 5, 3*time.Second)
		if diff := cmp.Diff(first, plan(7, round, 5, 3*time.Second)); diff != "" {
			t.Fatalf("round %d (-first +again):\n%s", round, diff)
		}
		for i, f := range first {
			seen[f.Kind] = true
			if i > 0 && f.At < first[i-1].At || f.Kind == stopped && f.For <= lease {
				t.Errorf("round %d has %v", round, first)
			}
		}
	}
	for target, kinds := range targets {
		for _, k := range kinds {
			if !seen[k] {
				t.Errorf("%s never meets %s", target, k)
			}
		}
	}
	if cmp.Equal(plan(7, 0, 5, 3*time.Second), plan(8, 0, 5, 3*time.Second)) {
		t.Error("two seeds are one sequence")
	}
}
