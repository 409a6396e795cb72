package httpedge

// Method is how a caller has shown who it is.
type Method uint8

const (
	// ByNothing means that nothing was shown, or nothing that is known.
	ByNothing Method = iota
	// ByBearer means an Authorization header, which no page of another site can send.
	ByBearer
	// ByCookie means a cookie, which a browser sends whoever made the page: a call
	// that changes something needs a check of its origin.
	ByCookie
)
