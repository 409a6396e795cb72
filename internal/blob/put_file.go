package blob

import (
	"context"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
)

// fileUpload writes a temporary file beside the place of the file.
type fileUpload struct {
	ctx    context.Context
	cancel context.CancelFunc
	to     *blob.Writer
	file   *os.File // the temporary file that to writes
}

func (s *Store) beginFile(ctx context.Context, key, contentType string) (upload, error) {
	up := &fileUpload{}
	ctx, up.cancel = context.WithCancel(ctx)
	to, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType,
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
	if err := u.file.Sync(); err != nil {
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

func (u *fileUpload) abandon() {
	u.cancel() // before Close, which would publish the part that is there
	_ = u.to.Close()
	_ = os.Remove(u.file.Name())
}
