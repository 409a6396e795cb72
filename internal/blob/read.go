package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Read-ahead of an S3 reader. It starts at what the tail of a zip file needs and
// doubles while the reading goes on in order: 100 MB take 28 requests.
const (
	firstWindow = 256 << 10
	lastWindow  = 4 << 20
	// fetchTries bounds the requests for one window whose answers break off: the
	// SDK tries again only up to an answer's header.
	fetchTries = 3
)

var errCut = errors.New("the answer broke off")

// Open gives a file for reading at any place, until ctx ends or it is closed.
// An absent file is NotFound.
func (s *Store) Open(ctx context.Context, key string) (export.Reader, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if s.dir != "" {
		return s.openFile(ctx, key)
	}
	attrs, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return nil, failure(err, "open %s", key)
	}
	r := &objectReader{bucket: s.bucket, key: key, etag: attrs.ETag, size: attrs.Size}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r, nil
}

// fileReader reads a file of a directory store straight from the disk.
type fileReader struct {
	ctx  context.Context
	open *blob.Reader
	file *os.File // open's
	key  string
}

func (s *Store) openFile(ctx context.Context, key string) (export.Reader, error) {
	r := &fileReader{ctx: ctx, key: key}
	open, err := s.bucket.NewReader(ctx, key, &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		if !as(&r.file) {
			return errors.New("the directory store gives no file")
		}
		return nil
	}})
	if err != nil {
		return nil, failure(err, "open %s", key)
	}
	r.open = open
	return r, nil
}

// ReadAt implements io.ReaderAt.
func (r *fileReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, failure(err, "read %s", r.key)
	}
	n, err := r.file.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, failure(err, "read %s", r.key)
}

// Size gives the file's length in bytes.
func (r *fileReader) Size() int64 { return r.open.Size() }

// Close releases the file.
func (r *fileReader) Close() error { return failure(r.open.Close(), "close %s", r.key) }

// objectReader reads an object of an S3 store by ranges, ahead of its caller. It
// holds one window: readers that jump between two places make a request a jump.
type objectReader struct {
	ctx       context.Context
	cancel    context.CancelFunc
	bucket    *blob.Bucket
	key, etag string
	size      int64

	mu     sync.Mutex
	window []byte
	start  int64 // of window
}

// ReadAt implements io.ReaderAt.
func (r *objectReader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fault.New(fault.Invalid, "A file cannot be read at %d.", off)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		if at < r.start || at >= r.start+int64(len(r.window)) {
			if err := r.fetch(at); err != nil {
				return n, failure(err, "read %s at %d", r.key, at)
			}
		}
		n += copy(p[n:], r.window[at-r.start:])
	}
	return n, nil
}

// fetch moves the window to at.
func (r *objectReader) fetch(at int64) error {
	length := firstWindow
	if len(r.window) > 0 && at == r.start+int64(len(r.window)) {
		length = min(2*len(r.window), lastWindow)
	}
	length = int(min(int64(length), r.size-at))
	if cap(r.window) < length {
		r.window = make([]byte, 0, length)
	}
	next := r.window[:length]
	r.window = r.window[:0] // what is in it is about to be overwritten
	var err error
	for range fetchTries {
		err = r.fill(next, at)
		if !errors.Is(err, errCut) {
			break
		}
	}
	if err != nil {
		return err
	}
	r.window, r.start = next, at
	return nil
}

// fill reads the object's bytes at off into p, all of them.
func (r *objectReader) fill(p []byte, off int64) (err error) {
	part, err := r.bucket.NewRangeReader(r.ctx, r.key, off, int64(len(p)), &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		// An object that was replaced meanwhile is an error, not a mixture.
		var in *s3.GetObjectInput
		if as(&in) {
			in.IfMatch = aws.String(r.etag)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	n, err := io.ReadFull(part, p)
	_ = part.Close() // every byte is there, or the error above says more
	if err != nil {
		return fmt.Errorf("%w after %d of %d bytes: %w", errCut, n, len(p), err)
	}
	return nil
}

// Size gives the object's length in bytes.
func (r *objectReader) Size() int64 { return r.size }

// Close ends the reading; a request under way is given up.
func (r *objectReader) Close() error {
	r.cancel()
	return nil
}
