package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"rowmill/internal/fault"
)

func TestKindOfAndMessage(t *testing.T) {
	cause := errors.New("password hunter2")
	const unknown = "Something went wrong on our side. The log has the cause."
	for _, x := range []struct {
		err     error
		kind    fault.Kind
		message string
	}{
		{cause, fault.Internal, unknown},
		{context.Canceled, fault.Internal, unknown},
		{fmt.Errorf("query: %w", context.DeadlineExceeded), fault.Unavailable, unknown},
		{fault.New(fault.NotFound, "No job %d.", 7), fault.NotFound, "No job 7."},
		{fault.Wrap(cause, fault.Conflict, "It has ended."), fault.Conflict, "It has ended."},
		{fmt.Errorf("page 3: %w", fault.Wrap(cause, fault.Gone, "It was removed.")), fault.Gone, "It was removed."},
		{fault.Wrap(fault.New(fault.Invalid, "inner"), fault.Unavailable, "outer"), fault.Unavailable, "outer"},
		{fault.Wrap(context.DeadlineExceeded, fault.Invalid, "Too much."), fault.Invalid, "Too much."},
		{errors.Join(cause, fault.New(fault.Forbidden, "No.")), fault.Forbidden, "No."},
	} {
		if got := fault.KindOf(x.err); got != x.kind {
			t.Errorf("%v: kind %v, want %v", x.err, got, x.kind)
		}
		if got := fault.Message(x.err); got != x.message {
			t.Errorf("%v: message %q, want %q", x.err, got, x.message)
		}
	}
}

func TestErrorGivesTheLogEverything(t *testing.T) {
	cause := errors.New("disk full")
	err := fault.Wrap(cause, fault.Internal, "The file could not be written.")
	if got, want := err.Error(), "The file could not be written.: disk full"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	invalid := fault.InvalidFields("The filter is not valid.", fault.Field{Name: "a", Detail: "is x"}, fault.Field{Name: "b", Detail: "is y"})
	if got, want := invalid.Error(), "The filter is not valid.; a: is x; b: is y"; got != want || invalid.Kind != fault.Invalid || len(invalid.Fields) != 2 {
		t.Errorf("got %q, want %q", got, want)
	}
	if fault.New(fault.Invalid, "No.").Unwrap() != nil {
		t.Error("a cause from nowhere")
	}
}

// The names are in problem types, which callers rely on.
func TestKindNamesAreStable(t *testing.T) {
	for kind, want := range map[fault.Kind]string{
		fault.Internal: "internal", fault.Invalid: "invalid", fault.NotFound: "not-found", fault.Conflict: "conflict", fault.Unauthorized: "unauthorized",
		fault.Forbidden: "forbidden", fault.Gone: "gone", fault.Unavailable: "unavailable", fault.Overloaded: "overloaded",
		fault.TooMany: "too-many-requests", fault.Full: "queue-full", fault.Kind(200): "kind(200)",
	} {
		if got := kind.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAsFindsNothingInOtherErrors(t *testing.T) {
	if f, ok := fault.As(errors.New("x")); ok || f != nil {
		t.Errorf("found %v", f)
	}
	if f, ok := fault.As(nil); ok || f != nil {
		t.Errorf("found %v", f)
	}
}
