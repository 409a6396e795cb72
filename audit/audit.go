// Package audit says what is kept of who took which data out: events that are
// added and never changed. It knows no store and no protocol.
package audit

import (
	"context"
	"time"
)

// Action is what was done or tried.
type Action string

const (
	Create   Action = "export.create"   // an export was asked for
	Download Action = "export.download" // its file was read, or a part of it
	Link     Action = "export.link"     // a signed link to its file was made
	Cancel   Action = "export.cancel"
	Revoke   Action = "export.revoke" // a job ended because its owner may no longer have it
	Deny     Action = "deny"          // a call was refused for want of a permission
	SignIn   Action = "sign-in"
	SignOut  Action = "sign-out"
	Read     Action = "audit.read"

	HomeChange Action = "home.change" // a section of the home board was changed
)

// Event is one entry. What does not apply is zero.
type Event struct {
	ID        string // UUIDv7: later events have greater ones
	At        time.Time
	Actor     string // the caller's subject; "" if not known
	ActorName string
	Address   string // the caller's IP address
	UserAgent string // at most 256 bytes
	RequestID string
	Action    Action
	JobID     string
	Dataset   string
	Filter    map[string][]string
	Sort      string
	Columns   []string
	Personal  bool   // personal data in the clear
	Reason    string // that the caller gave
	Rows      int64
	Bytes     int64
	SHA256    string // of the file
	Detail    string // of a denial: the permission that was wanted, or the rule; of a change: what it made
}

// Recorder keeps events. An event that cannot be kept is an error: what it is
// about must not happen then.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}
