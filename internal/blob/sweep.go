package blob

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Sweep removes what lies in the store since before the given moment and is of
// no use: what an upload left that was killed, and the files whose keys keep
// denies. It gives the number removed, and goes on past what cannot be removed.
//
// Keep must allow every key that is still written and every one that it does not
// know. Foreign files are left alone.
func (s *Store) Sweep(ctx context.Context, before time.Time, keep func(key string) bool) (removed int, err error) {
	var failures []error
	count := func(err error) {
		if err != nil {
			failures = append(failures, err)
			return
		}
		removed++
	}
	for o, err := range s.walk(ctx, "") {
		switch {
		case err != nil:
			failures = append(failures, err)
		case !o.ModTime.Before(before):
		case s.dir != "" && leftover(o.Key):
			count(failure(os.Remove(filepath.Join(s.dir, filepath.FromSlash(o.Key))), "remove %s", o.Key))
		case validKey(o.Key) && !keep(o.Key):
			count(s.Delete(ctx, o.Key))
		}
	}
	if s.s3 != nil {
		s.sweepUploads(ctx, before, keep, count)
	}
	return removed, errors.Join(failures...)
}

// sweepUploads aborts the multipart uploads that nobody will finish. Their parts
// are in no listing, but they take room and are billed. How old one is does not
// tell: a big file's takes as long as its job, and S3 dates it from its begin.
func (s *Store) sweepUploads(ctx context.Context, before time.Time, keep func(key string) bool, count func(error)) {
	for upload, err := range s.uploads(ctx, "") {
		switch {
		case err != nil:
			count(err)
		case validKey(aws.ToString(upload.Key)) && aws.ToTime(upload.Initiated).Before(before) && !keep(aws.ToString(upload.Key)):
			count(s.abort(ctx, upload))
		}
	}
}

// deleteUploads removes what killed uploads of the key left, whatever its age.
func (s *Store) deleteUploads(ctx context.Context, key string) error {
	var failures []error
	if s.s3 == nil {
		for o, err := range s.walk(ctx, key) {
			if err == nil && leftover(o.Key) && temporary.ReplaceAllString(o.Key, "") == key {
				err = os.Remove(filepath.Join(s.dir, filepath.FromSlash(o.Key)))
			}
			failures = append(failures, failure(err, "remove what is left of %s", key))
		}
		return errors.Join(failures...)
	}
	for upload, err := range s.uploads(ctx, key) {
		if err == nil && aws.ToString(upload.Key) == key {
			err = s.abort(ctx, upload)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// uploads gives the multipart uploads under way whose keys start with prefix.
func (s *Store) uploads(ctx context.Context, prefix string) iter.Seq2[types.MultipartUpload, error] {
	return func(yield func(types.MultipartUpload, error) bool) {
		in := &s3.ListMultipartUploadsInput{Bucket: aws.String(s.name), Prefix: aws.String(prefix)}
		for {
			page, err := s.s3.ListMultipartUploads(ctx, in)
			var api smithy.APIError
			if errors.As(err, &api) && (api.ErrorCode() == "NotImplemented" || api.ErrorCode() == "NoSuchUpload") {
				return // some stores expire them by themselves and list none
			}
			if err != nil {
				yield(types.MultipartUpload{}, failure(err, "list the uploads to bucket %s", s.name))
				return
			}
			for _, upload := range page.Uploads {
				if !yield(upload, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
		}
	}
}

func (s *Store) abort(ctx context.Context, upload types.MultipartUpload) error {
	_, err := s.s3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: aws.String(s.name), Key: upload.Key, UploadId: upload.UploadId,
	})
	return failure(err, "abort the upload of %s", aws.ToString(upload.Key))
}
