package sheet

import (
	"errors"
	"sync"
)

// errClosed is what an encoder answers once its file is complete.
var errClosed = errors.New("the file has been closed")

// sticky keeps the first error: excelize and zip writers go on after one and end
// a broken file without complaint.
type sticky struct {
	mu  sync.Mutex
	err error
}

func (s *sticky) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail keeps err unless there is one already, and gives err back.
func (s *sticky) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}
