package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// Segments says how big jobs are cut into segments, which are kept until the job
// ends. An attempt that follows another reuses those that are whole, and other
// workers can make some. The zero value keeps nothing.
type Segments struct {
	ResumeRows int64 // rows of a snapshot from which on segments are kept; 0: never
	SpreadRows int64 // rows from which on other workers are asked to help; 0: never
	Pages      int   // of a segment; default 10

	Files SegmentFiles // where they are kept
	Jobs  JobReader    // whether a job has ended

	// Of jobs that are spread.
	Plans  SegmentPlans
	Claims SegmentClaims
	Sender SegmentSender
	Worker string // this worker's name in its claims

	Count func(SegmentOutcome) // told of each segment; nil: nobody asks
}

// Defaults of Segments. A job of fewer rows takes seconds, which is less than the
// time until a lost worker is noticed.
const (
	DefaultResumeRows   = 250_000
	DefaultSpreadRows   = 500_000
	DefaultSegmentPages = 10
	DefaultSegmentSlots = 2
)

// segmentsAtOnce is how many segments a file in the making has under way, so that
// one is fetched while the other is encoded and stored.
const segmentsAtOnce = 2

// SegmentOutcome is what became of a segment.
type SegmentOutcome string

const (
	SegmentMade   SegmentOutcome = "made"   // fetched and encoded
	SegmentReused SegmentOutcome = "reused" // of an earlier attempt
	SegmentMoved  SegmentOutcome = "moved"  // its rows got other numbers, as rows before them were deleted
	SegmentLost   SegmentOutcome = "lost"   // claimed by a worker that fell silent
)

// SegmentFiles keeps what a job has made so far.
type SegmentFiles interface {
	Files
	// Keys gives the keys that start with prefix. After an error it ends.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// JobReader reads the job table.
type JobReader interface {
	// Get gives a job; an unknown one is NotFound.
	Get(ctx context.Context, id string) (Job, error)
}

// SegmentPlans says which segments a spread job has.
type SegmentPlans interface {
	// Plan replaces what stood there of the job by the segments of the attempt. It
	// is ErrFenced if the fence no longer holds.
	Plan(ctx context.Context, f Fence, segments []SegmentState) error
	// States gives the attempt's segments from the given one on, in one statement.
	States(ctx context.Context, f Fence, from int) ([]SegmentState, error)
	// Forget removes what is there of the job.
	Forget(ctx context.Context, jobID string) error
}

// SegmentClaims lets one worker at a time make a segment. Each call is
// ErrFenced where the job no longer runs in the attempt, or the segment is
// another worker's.
type SegmentClaims interface {
	// Claim takes a segment that is neither done nor held, and gives its snapshot.
	Claim(ctx context.Context, c SegmentClaim, at, leaseUntil time.Time) (snapshot int, err error)
	Renew(ctx context.Context, c SegmentClaim, leaseUntil time.Time) error
	Done(ctx context.Context, c SegmentClaim, at time.Time) error
	// Free gives it back.
	Free(ctx context.Context, c SegmentClaim) error
}

// SegmentClaim names a segment of an attempt and who makes it.
type SegmentClaim struct {
	Fence
	Segment int
	Worker  string
}

// SegmentState is where a segment stands.
type SegmentState struct {
	Segment    int
	Snapshot   int // the attempt that took it
	Worker     string
	LeaseUntil time.Time // of its claim; zero: none
	Done       bool
}

// free reports whether the segment can be claimed.
func (s SegmentState) free(now time.Time) bool {
	return !s.Done && (s.LeaseUntil.IsZero() || s.LeaseUntil.Before(now))
}

// SegmentSender asks the workers to make a segment. What it sends is a hint: the
// job does not wait for anybody who has not claimed.
type SegmentSender interface {
	SendSegment(ctx context.Context, j Job, segment int) error
}

func (s Segments) withDefaults() Segments {
	s.Pages = cmp.Or(s.Pages, DefaultSegmentPages)
	if s.Count == nil {
		s.Count = func(SegmentOutcome) {}
	}
	return s
}

func (s Segments) validate() error {
	var errs []error
	for _, x := range []struct {
		missing bool
		name    string
	}{
		{s.ResumeRows > 0 && s.Files == nil, "Files"}, {s.ResumeRows > 0 && s.Jobs == nil, "Jobs"},
		{s.SpreadRows > 0 && s.ResumeRows <= 0, "ResumeRows"}, {s.SpreadRows > 0 && s.Plans == nil, "Plans"},
		{s.SpreadRows > 0 && s.Claims == nil, "Claims"}, {s.SpreadRows > 0 && s.Sender == nil, "Sender"}, {s.SpreadRows > 0 && s.Worker == "", "Worker"},
	} {
		if x.missing {
			errs = append(errs, fmt.Errorf("export: Config.Segments.%s is missing", x.name))
		}
	}
	if s.ResumeRows < 0 || s.SpreadRows < 0 || s.Pages < 1 {
		errs = append(errs, fmt.Errorf("export: Config.Segments has a negative number among ResumeRows %d, SpreadRows %d and Pages %d", s.ResumeRows, s.SpreadRows, s.Pages))
	}
	return errors.Join(errs...)
}

// Keys of what is kept of a job: the snapshot of attempt s, and its segments.
const chunkKeys, listName = "chunks/", "snapshot"

const chunkType = "application/octet-stream"

func keysOf(jobID string) string { return chunkKeys + jobID + "." }

func listKey(jobID string, snapshot int) string {
	return fmt.Sprintf("%s%d.%s", keysOf(jobID), snapshot, listName)
}

func partKey(jobID string, snapshot, segment int) string {
	return fmt.Sprintf("%s%d.%d", keysOf(jobID), snapshot, segment)
}

// JobOfChunk gives the id of the job that keeps something under the key until it ends.
func JobOfChunk(key string) (id string, ok bool) {
	name, ours := strings.CutPrefix(key, chunkKeys)
	id, _, dotted := strings.Cut(name, ".")
	return id, ours && dotted
}

// readKey gives the attempt that took the snapshot, and the segment; -1 is the
// snapshot itself.
func readKey(jobID, key string) (snapshot, segment int, ok bool) {
	name, ours := strings.CutPrefix(key, keysOf(jobID))
	first, last, dotted := strings.Cut(name, ".")
	if !ours || !dotted {
		return 0, 0, false
	}
	snapshot, err := strconv.Atoi(first)
	if last == listName {
		return snapshot, -1, err == nil
	}
	segment, segmentErr := strconv.Atoi(last)
	return snapshot, segment, err == nil && segmentErr == nil && segment >= 0
}

// DiscardSegments removes all that is kept of a job.
func (r *Runner) DiscardSegments(ctx context.Context, jobID string) error {
	if r.cfg.Segments.ResumeRows <= 0 {
		return nil
	}
	var errs []error
	for key, err := range r.cfg.Segments.Files.Keys(ctx, keysOf(jobID)) {
		if err == nil {
			err = r.cfg.Segments.Files.Delete(ctx, key)
		}
		errs = append(errs, err)
	}
	if r.cfg.Segments.Plans != nil {
		errs = append(errs, r.cfg.Segments.Plans.Forget(ctx, jobID))
	}
	return errors.Join(errs...)
}

// discardEnded removes what is kept of a job if it has ended, also when ctx has.
func (r *Runner) discardEnded(ctx context.Context, jobID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	j, err := r.cfg.Segments.Jobs.Get(ctx, jobID)
	if err == nil && j.Status.Final() {
		err = r.DiscardSegments(ctx, jobID)
	}
	if err != nil {
		r.cfg.Logger.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
}
