package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"rowmill/internal/fault"
)

func TestFailure(t *testing.T) {
	path := func(cause error) error { return &os.PathError{Op: "write", Path: "/secret/place", Err: cause} }
	tests := []struct {
		err     error
		kind    fault.Kind
		message string
	}{
		{path(syscall.ENOSPC), fault.Unavailable, "is full"},
		{fmt.Errorf("flush: %w", path(syscall.EDQUOT)), fault.Unavailable, "is full"},
		{path(syscall.EFBIG), fault.Unavailable, "larger than the file store takes"},
		{path(syscall.EACCES), fault.Unavailable, "refuses access"},
		{path(syscall.ENOENT), fault.NotFound, "does not exist"},
		{path(syscall.EIO), fault.Unavailable, "Try again"},
		{context.DeadlineExceeded, fault.Unavailable, "Try again"},
		{fault.New(fault.Conflict, "of the writer"), fault.Conflict, "of the writer"},
	}
	for _, test := range tests {
		err := failure(test.err, "write %s", "a")
		message := fault.Message(err)
		if fault.KindOf(err) != test.kind || !strings.Contains(message, test.message) || strings.Contains(message, "place") {
			t.Errorf("%v: kind %v, message %q", test.err, fault.KindOf(err), message)
		}
		if !errors.Is(err, test.err) {
			t.Errorf("%v: the cause is lost", test.err)
		}
	}
	if err := failure(nil, "write %s", "a"); err != nil {
		t.Errorf("nil became %v", err)
	}
	if err := failure(context.Canceled, "write"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelation became %v", err)
	}
}
