package blob

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE of fallocate(2): the file stays as long as it is,
// and the room behind its end is its own.
const keepSize = 0x01

// reserve takes room for size bytes of f. It fails only where there is none; on a
// file system that cannot reserve, a write will tell.
func reserve(ctx context.Context, f *os.File, size int64) (done bool, err error) {
	err = withFile(f, func(fd int) error {
		for {
			err := syscall.Fallocate(fd, keepSize, 0, size)
			if !errors.Is(err, syscall.EINTR) || ctx.Err() != nil { // the runtime's own signals interrupt it
				return err
			}
		}
	})
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return false, err
	}
	return err == nil, nil
}

// freeRoom gives the bytes that f's file system still takes; -1: not known.
func freeRoom(f *os.File) int64 {
	free := int64(-1)
	_ = withFile(f, func(fd int) error { // it stays unknown
		var s syscall.Statfs_t
		err := syscall.Fstatfs(fd, &s)
		if err == nil {
			free = int64(s.Bavail) * s.Bsize
		}
		return err
	})
	return free
}

func withFile(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) { callErr = call(int(fd)) })
	return errors.Join(err, callErr)
}
