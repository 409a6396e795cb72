package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// Object is a stored file.
type Object struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
}

// List gives the files whose keys start with prefix, in no particular order.
// Files that come or go meanwhile may be given or not. After an error it ends.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range s.walk(ctx, prefix) {
			if err == nil && !validKey(o.Key) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// walk gives everything that starts with prefix, leftovers and foreign files too.
func (s *Store) walk(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if s.dir != "" {
		return s.walkDirectory(ctx, prefix)
	}
	return func(yield func(Object, error) bool) {
		objects := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := objects.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Object{}, placeFailure(err, "list %s", prefix))
				return
			}
			if !yield(Object{Key: o.Key, Size: o.Size, ModTime: o.ModTime}, nil) {
				return
			}
		}
	}
}

// walkDirectory does what fileblob's listing does not: it bears with a file that
// is renamed or removed while it is listed, and reads the tree once, not once for
// every 1,000 files. Valid keys are paths as they stand.
func (s *Store) walkDirectory(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if path == s.dir {
				return err
			}
			if err == nil {
				err = s.visit(path, entry, prefix, yield)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			yield(Object{}, placeFailure(err, "list %s", prefix))
		}
	}
}

// visit gives the file at path, if its key starts with prefix.
func (s *Store) visit(path string, entry fs.DirEntry, prefix string, yield func(Object, error) bool) error {
	key := filepath.ToSlash(strings.TrimPrefix(path, s.dir+string(filepath.Separator)))
	if entry.IsDir() {
		if below := key + "/"; !strings.HasPrefix(below, prefix) && !strings.HasPrefix(prefix, below) {
			return fs.SkipDir
		}
		return nil
	}
	if !strings.HasPrefix(key, prefix) || !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if !yield(Object{Key: key, Size: info.Size(), ModTime: info.ModTime()}, nil) {
		return fs.SkipAll
	}
	return nil
}
