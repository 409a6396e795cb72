package blob

import (
	"context"
	"errors"
	"io"
	"time"

	"gocloud.dev/blob"
)

const (
	// uploadParts is how many parts of 8 MiB travel at once; the uploader holds one
	// more, and the first 16 MiB, in memory.
	uploadParts = 2
	// abortTime is what an upload that is given up gets to remove its parts.
	abortTime = 10 * time.Second
)

var errAbandoned = errors.New("the upload was given up")

// objectUpload sends an object. It is given up by an error of the uploader's
// source, not by the end of the uploader's context: the uploader would try to
// remove the parts in the ended context too, fail, and leave them to be billed.
type objectUpload struct {
	ctx    context.Context
	source *io.PipeWriter
	cancel context.CancelFunc // of the uploader
	unhook func() bool        // from ctx
	result <-chan error
}

func (s *Store) beginObject(ctx context.Context, key, contentType string) upload {
	uploading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	out, in := io.Pipe()
	result := make(chan error, 1)
	go func() {
		err := s.bucket.Upload(uploading, key, out, &blob.WriterOptions{ContentType: contentType, MaxConcurrency: uploadParts})
		_ = out.CloseWithError(err) // what is still written fails too
		result <- err
	}()
	up := &objectUpload{ctx: ctx, source: in, cancel: cancel, result: result}
	up.unhook = context.AfterFunc(ctx, func() { up.giveUp(ctx.Err()) })
	return up
}

func (u *objectUpload) Write(p []byte) (int, error) {
	n, err := u.source.Write(p)
	if ended := u.ctx.Err(); err != nil && ended != nil {
		return n, ended
	}
	return n, err
}

func (u *objectUpload) commit() error {
	if err := u.ctx.Err(); err != nil { // the hook may still be on its way
		u.abandon()
		return err
	}
	_ = u.source.Close() // of no effect if it was given up
	return u.wait()
}

func (u *objectUpload) abandon() {
	u.giveUp(errAbandoned)
	_ = u.wait()
}

func (u *objectUpload) giveUp(why error) {
	_ = u.source.CloseWithError(why)
	time.AfterFunc(abortTime, u.cancel)
}

// wait gives what became of the upload.
func (u *objectUpload) wait() error {
	err := <-u.result
	u.unhook()
	u.cancel()
	if ended := u.ctx.Err(); err != nil && ended != nil {
		return ended
	}
	return err
}
