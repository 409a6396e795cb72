package export

import "time"

// Standing is what waits and works at a moment.
type Standing struct {
	Workers int // that are alive
	Queues  map[Queue]QueueStanding
}

// QueueStanding is a queue at a moment.
type QueueStanding struct {
	Due     int64         // queued jobs that may start
	Later   int64         // queued jobs that are to be tried again later
	Running int64         // jobs that a worker has
	Oldest  time.Duration // since the first of the due jobs may start; 0 if there is none
}
