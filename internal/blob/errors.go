package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"

	"rowmill/export"
	"rowmill/internal/fault"
)

// failure gives a store's error its kind and a message for the caller; nil
// stays nil. An error that has a kind, and a cancelation, stay what they are.
func failure(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	doing = fmt.Sprintf(doing, args...)
	if _, ok := fault.As(err); ok || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if full(err) {
		err = fmt.Errorf("%w: %w", export.ErrNoRoom, err)
	}
	kind, message := classify(err)
	return fault.Wrap(fmt.Errorf("%s: %w", doing, err), kind, "%s", message)
}

// placeFailure is failure where no file was named that could be absent: it is
// the store's own place that is.
func placeFailure(err error, doing string, args ...any) error {
	err = failure(err, doing, args...)
	if fault.KindOf(err) == fault.NotFound {
		return fault.Wrap(err, fault.Unavailable, "The file store's directory or bucket does not exist.")
	}
	return err
}

// finishFailure is placeFailure for a file whose bytes were all written.
func finishFailure(err error, key string) error {
	failed := placeFailure(err, "publish %s", key)
	if fault.Message(failed) == notRightly {
		return fault.Wrap(failed, fault.Unavailable, "The file store could not finish the file. Try again in a moment.")
	}
	return failed
}

// notRightly is what is said of a failure that says nothing itself.
const notRightly = "The file store does not answer rightly. Try again in a moment."

// full reports whether the error says that there is no room.
func full(err error) bool {
	var response *awshttp.ResponseError
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.As(err, &response) && response.HTTPStatusCode() == http.StatusInsufficientStorage
}

func classify(err error) (fault.Kind, string) {
	var api smithy.APIError
	switch {
	case full(err):
		return fault.Unavailable, "The file store is full. Its operator must make room."
	case errors.Is(err, syscall.EFBIG):
		return fault.Unavailable, "The file is larger than the file store takes."
	case errors.As(err, &api) && api.ErrorCode() == "NoSuchBucket":
		return fault.Unavailable, "The file store's bucket does not exist."
	case gcerrors.Code(err) == gcerrors.NotFound, errors.Is(err, fs.ErrNotExist):
		return fault.NotFound, "The file does not exist."
	case gcerrors.Code(err) == gcerrors.PermissionDenied, errors.Is(err, fs.ErrPermission):
		return fault.Unavailable, "The file store refuses access. Its operator must allow it."
	}
	return fault.Unavailable, notRightly
}
