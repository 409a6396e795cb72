package export

import "time"

// History is a part of the jobs, newest first.
type History struct {
	RequestedBy string // "" for everybody's
	Status      Status // "" for all
	Before      string // id of a job: those older than it; "" for the newest
	Limit       int    // 1 to MaxHistory
}

// MaxHistory is the most jobs of one page of the history.
const MaxHistory = 200

// Workers is what is known of the processes that run jobs.
type Workers struct {
	Alive    int
	LastSeen time.Time // of any worker; zero: never
}

// WorkerBeat is how often a worker says that it is alive, and WorkerLost how
// long after its last word it counts as gone: three missed beats.
const (
	WorkerBeat = 5 * time.Second
	WorkerLost = 15 * time.Second
)
