// Package blob keeps published files: in a directory, or in a bucket of an S3
// compatible store. A file is visible whole or not at all, whatever fails while
// it is written, and errors carry a message that its reader may see.
//
// The directory or bucket is Rowmill's own: List, Sweep and the keys know
// nothing of other owners' files.
package blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"rowmill/internal/fault"
)

// dirMode keeps exports, which hold personal data, from the machine's other users.
const dirMode = 0o700

// Store is a place for files. It is safe for concurrent use.
type Store struct {
	bucket *blob.Bucket
	dir    string     // of a directory store
	s3     *s3.Client // of an S3 store
	name   string     // of the S3 bucket
}

// Open opens a store by its URL, without a call to it:
//
//   - file:///var/lib/rowmill/files is a directory, made with mode 0700 if it is absent;
//   - s3://bucket is a bucket, which must exist. Parameters: region, endpoint (of
//     a store other than AWS), use_path_style (true or false) and checksums
//     (when_supported or when_required, for stores that refuse CRC trailers).
//     Credentials come from the AWS SDK's usual environment, never from the URL.
//
// A URL that says something else is Invalid.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// url.Error repeats the URL, which may hold what should not be logged.
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err
		}
		return nil, fault.Wrap(err, fault.Invalid, "The file store's URL cannot be read.")
	}
	if u.User != nil {
		return nil, fault.New(fault.Invalid, "The file store's URL holds credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.")
	}
	switch u.Scheme {
	case "file":
		return openDirectory(u)
	case "s3":
		return openS3(ctx, u)
	}
	return nil, fault.New(fault.Invalid, "%q is not a kind of file store; file:///directory and s3://bucket are.", u.Scheme)
}

// DirectoryURL gives the URL of the store in directory dir, which may be relative.
func DirectoryURL(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", dir, err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String(), nil
}

func openDirectory(u *url.URL) (*Store, error) {
	if u.Host != "" || u.Path == "" || u.Path == "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "The file store's directory is given as file:///directory: three slashes, an absolute path below the root, no parameters.")
	}
	dir := filepath.FromSlash(u.Path)
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir:   true,
		DirFileMode: dirMode,
		NoTempDir:   true, // beside the file, or the rename could cross file systems
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, placeFailure(err, "open directory %s", dir)
	}
	return &Store{bucket: bucket, dir: dir}, nil
}

// Ping reports whether the store can be used now: a directory is written to, a
// bucket is listed.
func (s *Store) Ping(ctx context.Context) error {
	if s.dir == "" {
		_, _, err := s.bucket.ListPage(ctx, blob.FirstPageToken, 1, nil)
		return placeFailure(err, "list bucket %s", s.name)
	}
	// Named as a leftover, so that Sweep removes it should the process end here.
	name := filepath.Join(s.dir, fmt.Sprintf("ping.%x.tmp", time.Now().UnixNano()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return placeFailure(err, "write to directory %s", s.dir)
	}
	_, err = f.Write([]byte{0}) // a full disk still takes empty files
	return placeFailure(errors.Join(err, f.Close(), os.Remove(name)), "write to directory %s", s.dir)
}

// Delete removes a file, and what a killed upload left of it; an absent one is no
// error. An upload of the key that is under way fails.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := failure(s.bucket.Delete(ctx, key), "delete %s", key)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	return errors.Join(err, s.deleteUploads(ctx, key))
}

// Close releases the store. Open readers must be closed before.
func (s *Store) Close() error {
	return failure(s.bucket.Close(), "close the file store")
}
