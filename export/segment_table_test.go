package export_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"rowmill/export"
)

// segmentTable is the table of segments in memory, and the queue of their tasks.
type segmentTable struct {
	job *attempts // fences what is written

	mu     sync.Mutex
	states []export.SegmentState
	fence  export.Fence
	sent   []int
	broken func() error // nil: it answers
	send   func(export.Job, int) error
	claims map[string]int // by worker
}

func (s *segmentTable) fenced(f export.Fence) error {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	if s.job.fenced || s.job.file != nil || f != s.fence {
		return export.ErrFenced
	}
	return nil
}

func (s *segmentTable) Plan(_ context.Context, f export.Fence, states []export.SegmentState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence, s.states, s.claims = f, slices.Clone(states), map[string]int{}
	return nil
}

func (s *segmentTable) States(_ context.Context, _ export.Fence, from int) ([]export.SegmentState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		if err := s.broken(); err != nil {
			return nil, err
		}
	}
	return slices.Clone(s.states[from:]), nil
}

func (s *segmentTable) Forget(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = nil
	return nil
}

func (s *segmentTable) Claim(_ context.Context, c export.SegmentClaim, at, lease time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fenced(c.Fence); err != nil || s.states[c.Segment].Done || s.states[c.Segment].LeaseUntil.After(at) {
		return 0, export.ErrFenced
	}
	s.states[c.Segment].Worker, s.states[c.Segment].LeaseUntil = c.Worker, lease
	s.claims[c.Worker]++
	return s.states[c.Segment].Snapshot, nil
}

func (s *segmentTable) write(c export.SegmentClaim, change func(*export.SegmentState)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fenced(c.Fence); err != nil || s.states[c.Segment].Done || s.states[c.Segment].Worker != c.Worker {
		return export.ErrFenced
	}
	change(&s.states[c.Segment])
	return nil
}

func (s *segmentTable) Renew(_ context.Context, c export.SegmentClaim, lease time.Time) error {
	return s.write(c, func(x *export.SegmentState) { x.LeaseUntil = lease })
}

func (s *segmentTable) Done(_ context.Context, c export.SegmentClaim, _ time.Time) error {
	return s.write(c, func(x *export.SegmentState) { x.Done, x.LeaseUntil = true, time.Time{} })
}

func (s *segmentTable) Free(_ context.Context, c export.SegmentClaim) error {
	return s.write(c, func(x *export.SegmentState) { x.Worker, x.LeaseUntil = "", time.Time{} })
}

func (s *segmentTable) SendSegment(_ context.Context, j export.Job, segment int) error {
	s.mu.Lock()
	s.sent = append(s.sent, segment)
	s.mu.Unlock()
	if s.send != nil {
		return s.send(j, segment)
	}
	return nil
}
