package blob

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"gocloud.dev/blob"

	"rowmill/export"
)

// fileUpload writes a temporary file beside the place of the file.
type fileUpload struct {
	ctx    context.Context
	cancel context.CancelFunc
	to     *blob.Writer
	file   *os.File // the temporary file that to writes

	reserved bool // room behind the end of the file
}

func (s *Store) beginFile(ctx context.Context, key string, meta export.FileMeta) (upload, error) {
	up := &fileUpload{}
	ctx, up.cancel = context.WithCancel(ctx)
	to, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: meta.ContentType,
		BeforeWrite: func(as func(any) bool) error {
			as(&up.file)
			return nil
		},
	})
	if err != nil {
		up.cancel()
		return nil, err
	}
	up.ctx, up.to = ctx, to
	if meta.Expected > 0 {
		if up.reserved, err = reserve(ctx, up.file, meta.Expected); err != nil {
			free := freeRoom(up.file)
			up.abandon()
			return nil, noRoom(err, meta.Expected, free)
		}
	}
	return up, nil
}

func (u *fileUpload) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.to.Write(p)
}

// commit gives the file its name only when it is on the disk, so that a power
// failure leaves no empty file.
func (u *fileUpload) commit() error {
	if err := errors.Join(u.giveBack(), u.file.Sync()); err != nil {
		u.abandon()
		return err
	}
	defer u.cancel()
	if err := u.to.Close(); err != nil {
		_ = os.Remove(u.file.Name()) // where closing it failed, it is still there
		return err
	}
	// The file is published: that its name might not outlast a power failure is
	// not worth an error that says it is not.
	if dir, err := os.Open(filepath.Dir(u.file.Name())); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// giveBack returns the room that the file did not need.
func (u *fileUpload) giveBack() error {
	if !u.reserved {
		return nil
	}
	info, err := u.file.Stat()
	if err != nil {
		return err
	}
	return u.file.Truncate(info.Size())
}

func (u *fileUpload) abandon() {
	u.cancel() // before Close, which would publish the part that is there
	_ = u.to.Close()
	_ = os.Remove(u.file.Name())
}
