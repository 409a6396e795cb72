package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rowmill/internal/fault"
)

// Verify reads a whole file back, by its bytes alone, and gives what it holds. It
// fails if the file is damaged, cut short or misses a row: "sheet 2: row 17 is
// missing". Of an xlsx file every part's CRC-32 is checked, and that it is well
// formed; of a CSV file the marks, the quotes and that all records have the
// header's fields. It needs memory for a few blocks, whatever the file's size.
func Verify(ctx context.Context, format Format, r io.ReaderAt, size int64) (Contents, error) {
	switch format {
	case XLSX:
		return verifyXLSX(ctx, r, size)
	case CSV:
		return verifyCSV(ctx, io.NewSectionReader(r, 0, size))
	}
	return Contents{}, fault.New(fault.Invalid, "%q is not a file format; xlsx and csv are", format)
}

// Blocks are read ahead, so that inflating and reading run on two cores.
const (
	blockSize   = 256 << 10
	blocksAhead = 4
)

// readBlocks gives r's bytes to use, block by block, while it reads the next. It
// has no goroutine left when it returns.
func readBlocks(ctx context.Context, r io.Reader, use func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	free, full := make(chan []byte, blocksAhead), make(chan []byte, blocksAhead)
	for range blocksAhead {
		free <- make([]byte, blockSize)
	}
	var readErr error // set before full is closed
	go func() {
		defer close(full)
		readErr = fill(ctx, r, free, full)
	}()
	var useErr error
	for block := range full {
		if useErr != nil {
			continue // until the reader has ended
		}
		if useErr = use(block); useErr != nil {
			cancel()
			continue
		}
		free <- block[:blockSize]
	}
	cancel()
	if useErr != nil {
		return useErr // and not the end that this has put to reading
	}
	return readErr
}

// fill reads r into free blocks and passes them on, until r or ctx ends.
func fill(ctx context.Context, r io.Reader, free <-chan []byte, full chan<- []byte) error {
	for {
		var block []byte
		select {
		case <-ctx.Done():
			return ctx.Err()
		case block = <-free:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, block)
		if n > 0 {
			full <- block[:n]
		}
		switch {
		case errors.Is(err, io.EOF), n > 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return endOf(r)
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
	}
}

// endOf tells the end of r from an end that r itself did not expect, which
// io.ReadFull reports alike.
func endOf(r io.Reader) error {
	var one [1]byte
	if _, err := io.ReadFull(r, one[:]); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("bytes follow the end")
		}
		return fmt.Errorf("read: %w", err)
	}
	return nil
}
