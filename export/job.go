// Package export turns a request for rows into a file that can be trusted. It
// owns the job and its states, the pipeline from the snapshot to the published
// file, and the receipt that says what the file holds. What it needs of others
// (rows, the job table, a place for files) it states as small interfaces here.
package export

import (
	"time"

	"rowmill/access"
	"rowmill/export/sheet"
)

// Status is a job's state. Queued and Running are alive; the others are final,
// but that a Succeeded job is Expired once its file has been removed.
type Status string

const (
	Queued    Status = "queued"
	Running   Status = "running"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
	Expired   Status = "expired"
)

// Final reports whether a job in state s never runs again.
func (s Status) Final() bool { return s != Queued && s != Running }

// Phase is what a running job does.
type Phase string

const (
	PhaseSnapshot Phase = "snapshot"
	PhaseFetch    Phase = "fetch"
	PhaseVerify   Phase = "verify"
	PhasePublish  Phase = "publish"
)

// Request is what was asked: the very filter and order of the list view, and
// how the file shall look. It never changes once the job exists.
type Request struct {
	Dataset  string              `json:"dataset"`
	Format   sheet.Format        `json:"format"`
	Filter   map[string][]string `json:"filter,omitempty"` // in the list's dialect
	Sort     string              `json:"sort,omitempty"`
	Order    string              `json:"order,omitempty"` // "asc" or "desc"
	Columns  []string            `json:"columns"`
	Language string              `json:"language"`         // of the titles: "ko" or "en"
	TimeZone string              `json:"time_zone"`        // IANA name, for times
	FileName string              `json:"file_name"`        // as the browser saves it; empty: dataset and day
	Reason   string              `json:"reason,omitempty"` // why personal data are taken out
}

// Queue says how big a job is expected to be; each has worker slots of its own.
type Queue string

const (
	QueueSmall Queue = "small"
	QueueLarge Queue = "large"
)

// Job is an export job as the job table has it.
type Job struct {
	ID          string
	Request     Request
	RequestedBy string
	Scope       access.Scope // what the requester was let see
	Queue       Queue
	Turn        int64 // when it runs: the lowest of its queue is next; 0 until it is stored
	Status      Status
	Phase       Phase // of a running job

	// Attempt is the fencing token: each claim raises it, and every later write
	// of that run must carry it. Failures are the attempts that ended in a fault.
	Attempt  int
	Failures int

	RowsExpected int64 // an estimate while queued, the snapshot's total once running
	RowsWritten  int64

	CreatedAt  time.Time
	RunAt      time.Time // when the next attempt may start
	StartedAt  time.Time // of the last attempt; zero: never
	LeaseUntil time.Time // a running job whose lease has passed has lost its worker
	FinishedAt time.Time
	ExpiresAt  time.Time // of the file

	Failure *Failure // of a failed job, or the last fault of one that waits for its next attempt
	File    *File    // of a succeeded job
	Receipt *Receipt // of a succeeded job

	TraceParent string // W3C trace context of the request
}

// Percent is how much of the file is written: 100 exactly when it can be downloaded.
func (j Job) Percent() int {
	switch {
	case j.Status == Succeeded || j.Status == Expired:
		return 100
	case j.RowsExpected <= 0 || j.Status == Queued:
		return 0
	}
	return int(min(99, j.RowsWritten*100/j.RowsExpected))
}

// Failure says why a job failed, in words for its owner.
type Failure struct {
	Code    string    `json:"code"` // stable
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// File is where a published file lies.
type File struct {
	Key    string `json:"key"` // in the blob store; carries the attempt
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// Fence names one attempt of one job. A write under a fence that no longer
// holds changes nothing and returns ErrFenced.
type Fence struct {
	JobID   string
	Attempt int
}

// Receipt says what is in a file. Expected = Written + DeletedMeanwhile, and
// Distinct = Written, or the job has failed.
type Receipt struct {
	SnapshotAt       time.Time         `json:"snapshot_at"` // rows that match are those of this moment
	FirstPageAt      time.Time         `json:"first_page_at"`
	LastPageAt       time.Time         `json:"last_page_at"` // row contents are from between these two
	Expected         int64             `json:"expected"`
	Written          int64             `json:"written"`
	Distinct         int64             `json:"distinct"`
	DeletedMeanwhile int64             `json:"deleted_meanwhile"`
	Losses           sheet.Losses      `json:"losses"`
	Sheets           int               `json:"sheets"`
	Bytes            int64             `json:"bytes"`
	SHA256           string            `json:"sha256"`
	Seconds          map[Phase]float64 `json:"seconds"`
	PeakMemory       int64             `json:"peak_memory_bytes"` // of the worker process, over the run
	Statements       int64             `json:"statements"`
	Pages            int64             `json:"pages"`
	PagesFetched     int64             `json:"pages_fetched,omitempty"` // of them, in this attempt

	// Of a job that was cut into segments.
	Segments          int `json:"segments,omitempty"`
	SegmentsReused    int `json:"segments_reused,omitempty"`    // kept by an earlier attempt
	SegmentsElsewhere int `json:"segments_elsewhere,omitempty"` // made in this attempt by those whom the worker asked to help
}
