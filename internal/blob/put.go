package blob

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"rowmill/export"
)

// writeBuffer spares a directory store small writes, and an S3 store a
// rendezvous with the uploader for each.
const writeBuffer = 256 << 10

// upload is a file on its way into a store. Its Write fails once its context has
// ended. Exactly one of commit and abandon is called, once, at the end.
type upload interface {
	io.Writer
	// commit makes the file visible, or removes it and says why.
	commit() error
	// abandon removes what was written.
	abandon()
}

// Put writes a file. It is visible, whole, once Put returns nil; if write fails,
// panics or loses an error of its writer, or ctx ends, nothing of it stays and a
// file that had the key stays as it was. An error of write keeps its kind, one of
// the store is Unavailable. A directory store takes room for the expected bytes
// before it calls write, where its file system can. An S3 store takes up to 40 MiB
// of memory a call; if the answer to its last call is lost, the file may be there,
// whole, though Put fails.
func (s *Store) Put(ctx context.Context, key string, meta export.FileMeta, write func(w io.Writer) error) error {
	if err := checkKey(key); err != nil {
		return err
	}
	up, err := s.begin(ctx, key, meta)
	if err != nil {
		return placeFailure(err, "create %s", key)
	}
	committing := false
	defer func() { // also when write panics
		if !committing {
			up.abandon()
		}
	}()
	to := &stickyWriter{to: up}
	buffered := bufio.NewWriterSize(to, writeBuffer)
	if err := write(buffered); err != nil && to.err == nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if err := buffered.Flush(); err != nil {
		return placeFailure(err, "write %s", key)
	}
	committing = true
	return finishFailure(up.commit(), key)
}

func (s *Store) begin(ctx context.Context, key string, meta export.FileMeta) (upload, error) {
	if s.dir != "" {
		return s.beginFile(ctx, key, meta)
	}
	return s.beginObject(ctx, key, meta.ContentType), nil
}

// stickyWriter remembers the store's error, to tell it from the caller's.
type stickyWriter struct {
	to  io.Writer
	err error
}

func (w *stickyWriter) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	n, w.err = w.to.Write(p)
	return n, w.err
}
