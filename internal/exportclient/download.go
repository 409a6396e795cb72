package exportclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Download writes the job's file to path. It writes beside it, resumes a broken
// connection where it stopped (also one of an earlier call), checks size and
// SHA-256 against the receipt, and only then puts the file in place.
func (c *Client) Download(ctx context.Context, j Job, path string) error {
	if j.Receipt == nil {
		return fmt.Errorf("job %s has no file", j.ID)
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+j.ID+".part")
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the file to download to: %w", err)
	}
	if err := c.fill(ctx, f, j); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := check(f, j); err != nil {
		return errors.Join(err, f.Close(), os.Remove(part))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("finish the download: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("put the download in place: %w", err)
	}
	return nil
}

// fill appends what f lacks, over as many connections as it takes. It gives up
// only when none has brought a byte for patience: a long download may break often.
func (c *Client) fill(ctx context.Context, f *os.File, j Job) error {
	most, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("download the file: %w", err)
	}
	for whole := most >= j.Receipt.Bytes; !whole; {
		whole, err = backoff.Retry(ctx, func() (bool, error) {
			have, err := c.more(ctx, f, j)
			if err != nil && have > most && ctx.Err() == nil && !permanent(err) {
				most = have
				return false, nil // broken off, but further than before
			}
			return true, err // an end that is not the receipt's is for check to tell
		}, backoff.WithMaxElapsedTime(patience))
		if err != nil {
			return fmt.Errorf("download the file: %w", err)
		}
	}
	return nil
}

// patience outlasts a gateway that is started anew.
const patience = 5 * time.Minute

func permanent(err error) bool {
	var p *backoff.PermanentError
	return errors.As(err, &p)
}

// more appends what one connection brings and gives f's size. A gateway whose file
// is another than the one begun sends the whole of it.
func (c *Client) more(ctx context.Context, f *os.File, j Job) (size int64, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return size, backoff.Permanent(err)
	}
	head := http.Header{"Range": {"bytes=" + strconv.FormatInt(size, 10) + "-"}, "If-Range": {`"` + j.Receipt.SHA256 + `"`}}
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/exports/"+j.ID+"/file", nil, head)
	if err != nil {
		return size, retryable(err)
	}
	defer func() { _ = resp.Body.Close() }() // a broken connection shows in the copy
	if resp.StatusCode != http.StatusPartialContent {
		if err := errors.Join(f.Truncate(0), rewind(f)); err != nil {
			return size, backoff.Permanent(err)
		}
		size = 0
	}
	n, err := copyBody(f, resp.Body)
	return size + n, err
}

// copyBody tells a broken connection, which is tried again, from a full disk, which is not.
func copyBody(f *os.File, body io.Reader) (written int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		w, writeErr := f.Write(buf[:n])
		written += int64(w)
		if writeErr != nil {
			return written, backoff.Permanent(writeErr)
		}
		if errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, fmt.Errorf("the download broke off: %w", err)
		}
	}
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func check(f *os.File, j Job) error {
	if err := rewind(f); err != nil {
		return fmt.Errorf("check the download: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("check the download: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != j.Receipt.Bytes || got != j.Receipt.SHA256 {
		return fmt.Errorf("the download has %d bytes with SHA-256 %s, the receipt says %d and %s: it was removed, ask again", n, got, j.Receipt.Bytes, j.Receipt.SHA256)
	}
	return nil
}
