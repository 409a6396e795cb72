package export

import (
	"context"
	"errors"
	"io"
	"time"

	"rowmill/access"
	"rowmill/internal/table"
)

// ErrFenced is returned by a write of an attempt that is no longer the job's
// current one: it was canceled, or another worker has taken over.
var ErrFenced = errors.New("the job has moved on: this attempt is no longer its current one")

// ErrNothingDue is returned by a claim of a queue whose jobs have all been taken, or
// are to run later.
var ErrNothingDue = errors.New("no job of the queue is due")

// ErrNoRoom is in the error of a Files that has no room for what it was given.
var ErrNoRoom = errors.New("the file store has no room")

// Progress is where a running attempt stands.
type Progress struct {
	Phase    Phase
	Expected int64
	Written  int64
}

// Attempts is the part of the job table that a run writes, always under its fence.
type Attempts interface {
	// Report stores the progress and extends the lease.
	Report(ctx context.Context, f Fence, p Progress, leaseUntil time.Time) error
	// Succeed publishes: from here on the file can be downloaded.
	Succeed(ctx context.Context, f Fence, file File, r Receipt, at, expires time.Time) error
	// Fail ends the job.
	Fail(ctx context.Context, f Fence, why Failure) error
	// Release puts the job back into the queue for another attempt at runAt.
	// why is nil if the attempt was handed back without a fault.
	Release(ctx context.Context, f Fence, runAt time.Time, why *Failure) error
}

// Column is an entry of a dataset's catalog.
type Column struct {
	Key    string
	Titles map[string]string // by language: "ko", "en"
	Type   table.Type
	Scale  uint8
	Width  float64
	Format string
	Fields []string // what the source must read for it; the first is its value

	Personal string // kind of personal data: "name", "phone", "email" or "text"; "" is none
}

// Snapshot is the frozen list of what an export holds.
type Snapshot struct {
	At         time.Time
	Total      int64
	Pages      []PageToken
	Statements int64
}

// PageToken stands for a run of the snapshot's rows; only its source can read it.
type PageToken struct {
	Rows  int // in the snapshot
	Token []byte
}

// Page is the answer to a token: the rows that still exist, in order.
type Page struct {
	Rows       []table.Row
	Deleted    int // rows of the snapshot that are gone; len(Rows)+Deleted is the token's Rows
	Statements int64
}

// Source gives a dataset's rows. It retries what may be retried; an error it
// returns ends the attempt. It gives no more than the scope shows: a row of the
// snapshot that is outside of it is deleted, as far as its page tells.
type Source interface {
	Snapshot(ctx context.Context, scope access.Scope, r Request) (Snapshot, error)
	Fetch(ctx context.Context, scope access.Scope, t PageToken, fields []string) (Page, error)
}

// FileMeta is what is known of a file before it is written.
type FileMeta struct {
	ContentType string
	// Expected is about how many bytes it will have; 0: not known. A store that has
	// no room for them may fail before it is given any.
	Expected int64
}

// Files keeps published files.
type Files interface {
	// Put writes a file; it is visible only if write and Put return nil.
	Put(ctx context.Context, key string, meta FileMeta, write func(w io.Writer) error) error
	// Open gives a file for reading at any place.
	Open(ctx context.Context, key string) (Reader, error)
	// Delete removes a file; an absent one is no error.
	Delete(ctx context.Context, key string) error
}

// Reader reads a stored file at any place.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}
