package blob

import (
	"regexp"
	"strings"

	"rowmill/internal/fault"
)

// Bounds of a key. S3 takes 1,024 bytes; a name in a Linux directory 255, of
// which a temporary file's ending takes 21.
const (
	maxKey     = 512
	maxSegment = 200
)

var (
	// segment is what stands between slashes. No leading dot: neither .. nor the
	// hidden files of a directory that was named by mistake.
	segment = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	// temporary is the ending that fileblob gives a file until it is complete:
	// the time in nanoseconds, in hexadecimal.
	temporary = regexp.MustCompile(`\.[0-9a-f]{15,17}\.tmp$`)
)

// checkKey allows the keys that every kind of store keeps as they are.
func checkKey(key string) error {
	if validKey(key) {
		return nil
	}
	return fault.New(fault.Invalid, "%.80q is not a file's key: 1 to %d ASCII letters, digits, '.', '_' and '-', in parts of at most %d between slashes.", key, maxKey, maxSegment)
}

func validKey(key string) bool {
	if len(key) > maxKey || strings.Contains(key, "__0x") { // gocloud's escape
		return false
	}
	if strings.HasSuffix(key, ".tmp") || strings.HasSuffix(key, ".attrs") { // fileblob's own files
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if len(part) > maxSegment || !segment.MatchString(part) {
			return false
		}
	}
	return true
}

// leftover reports whether name is that of an unfinished file.
func leftover(name string) bool {
	base := temporary.ReplaceAllString(name, "")
	return base != name && validKey(base)
}
