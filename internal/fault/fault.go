// Package fault is the error that crosses Rowmill's boundaries: a kind that an
// edge maps to a status, a message that is safe to show to the caller, and a
// cause that only the log sees.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what sort of failure an error is; each edge maps it once.
type Kind uint8

const (
	// Internal is the kind of every error that says nothing else.
	Internal Kind = iota
	// Invalid means that the input is wrong: the same call fails again.
	Invalid
	// NotFound means that the named thing does not exist, or not for this caller.
	NotFound
	// Conflict means that the thing's state forbids the call.
	Conflict
	// Unauthorized means that the caller is not known.
	Unauthorized
	// Forbidden means that the caller is known and may not.
	Forbidden
	// Gone means that the thing existed and was removed.
	Gone
	// Unavailable means that a dependency did not answer rightly: try again.
	Unavailable
	// Overloaded means that a dependency asked for fewer calls: try again later.
	Overloaded
	// TooMany means that the caller asks for too much at once: try again later.
	TooMany
	// Full means that all callers together have asked for as much as is taken on: try again later.
	Full
)

var kindNames = [...]string{"internal", "invalid", "not-found", "conflict", "unauthorized", "forbidden", "gone", "unavailable", "overloaded", "too-many-requests", "queue-full"}

// String gives the kind's stable name, as used in logs and problem types.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Field is one part of the input that is wrong.
type Field struct {
	Name   string // as the caller wrote it
	Detail string // what is wrong with it and what would be right
}

// Error is a failure with a kind and a message that may be shown.
type Error struct {
	Kind       Kind
	Message    string        // safe for the caller: no cause, no secret
	Fields     []Field       // of an Invalid error
	RetryAfter time.Duration // of an Overloaded, TooMany, Full or Unavailable error; 0: not said
	cause      error
}

// New returns an error of the kind with a message for the caller.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of the kind with a message for the caller and the cause for the log.
func Wrap(cause error, kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), cause: cause}
}

// InvalidFields returns an Invalid error that lists every wrong field.
func InvalidFields(message string, fields ...Field) *Error {
	return &Error{Kind: Invalid, Message: message, Fields: fields}
}

// Error gives everything, for the log.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "; %s: %s", f.Name, f.Detail)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// As gives the outermost Error in err's chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf gives the kind of err: Internal if nothing in its chain says more.
func KindOf(err error) Kind {
	if e, ok := As(err); ok {
		return e.Kind
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Unavailable
	}
	return Internal
}

// Message gives what the caller may read of err.
func Message(err error) string {
	if e, ok := As(err); ok {
		return e.Message
	}
	return "Something went wrong on our side. The log has the cause."
}
