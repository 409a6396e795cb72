package export

import (
	"fmt"
	"time"
)

// Load is what the jobs that wait or run come to.
type Load struct {
	Jobs int64
	Rows int64 // estimated, or of the snapshots where there are some; none where nobody could count
}

// Bounds are the most that may wait or run at once, whoever asked for it.
type Bounds struct {
	Jobs int64 // 0: no bound
	Rows int64 // 0: no bound
}

// Reason says which bound an order is past. The texts are in metrics.
type Reason string

const (
	TooManyQueuedJobs Reason = "queued-jobs"
	TooManyQueuedRows Reason = "queued-rows"
)

// FullError is why an order is not taken on.
type FullError struct {
	Reason Reason
	Rows   int64 // that must have been exported before there is room, as far as is known
}

// Error names the bound.
func (e *FullError) Error() string { return fmt.Sprintf("past the bound of %s", e.Reason) }

// Admit gives a *FullError if one more order of so many rows would be past the
// bounds. Where nothing waits or runs every order is taken on: one that is past the
// bound by itself could otherwise wait for ever.
func (b Bounds) Admit(l Load, rows int64) error {
	switch {
	case l.Jobs <= 0:
		return nil
	case b.Jobs > 0 && l.Jobs >= b.Jobs:
		return &FullError{Reason: TooManyQueuedJobs, Rows: (l.Jobs - b.Jobs + 1) * (l.Rows / l.Jobs)}
	case b.Rows > 0 && l.Rows+rows > b.Rows:
		return &FullError{Reason: TooManyQueuedRows, Rows: min(l.Rows, l.Rows+rows-b.Rows)}
	}
	return nil
}

// Wait gives how long it takes to export so many rows, from 1 s to 5 min.
func (r Rates) Wait(rows int64) time.Duration {
	seconds := min(mostRemaining.Seconds(), baseSeconds+float64(max(0, rows))/r.RowsPerSecond)
	return max(leastRemaining, time.Duration(seconds*float64(time.Second)))
}
