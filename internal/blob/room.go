package blob

import (
	"fmt"

	"rowmill/export"
	"rowmill/internal/fault"
)

// noRoom is the fault of a file for which there is no room, in words for its owner
// and its operator. Sizes are in bytes; free < 0: not known.
func noRoom(cause error, needed, free int64) error {
	cause = fmt.Errorf("%w: %w", export.ErrNoRoom, cause)
	if free < 0 {
		return fault.Wrap(cause, fault.Unavailable, "The file store is full: the file needs about %s. Its operator must make room.", inWords(needed))
	}
	return fault.Wrap(cause, fault.Unavailable, "The file store is full: the file needs about %s and %s are free. Its operator must make room.", inWords(needed), inWords(free))
}

// inWords gives a size as people read it, in powers of 1,000.
func inWords(bytes int64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	size, unit := float64(bytes)/1000, "kB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if size < 999.5 {
			break
		}
		size, unit = size/1000, next
	}
	return fmt.Sprintf("%.3g %s", size, unit)
}
