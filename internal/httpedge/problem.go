package httpedge

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	// ProblemMedia is the media type of a problem (RFC 9457, 3).
	ProblemMedia = "application/problem+json"
	// ProblemSpace is what every problem's type starts with; its kind follows.
	// Types are stable: callers tell problems apart by them.
	ProblemSpace = "urn:rowmill:problem:"
)

// SetRetryAfter sets Retry-After to the wait in whole seconds, rounded up so that
// nobody comes back too early (RFC 9110, 10.2.3). No wait sets nothing.
func SetRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(wait.Seconds()), 'f', 0, 64))
	}
}
