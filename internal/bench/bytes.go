package bench

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"

	"rowmill/export"
	"rowmill/export/sheet"
)

// hashed is a file and the hash of what it was given, as the product keeps it.
type hashed struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

func newHashed(to io.Writer) *hashed { return &hashed{to: to, sum: sha256.New()} }

func (h *hashed) Write(b []byte) (int, error) {
	n, err := h.to.Write(b)
	h.size += int64(n)
	h.sum.Write(b[:n])
	return n, err
}

func (h *hashed) check(f export.Reader) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, f.Size())); err != nil {
		return fmt.Errorf("read the file back: %w", err)
	}
	if !bytes.Equal(sum.Sum(nil), h.sum.Sum(nil)) {
		return errors.New("the file store gave back other bytes than it was given")
	}
	return nil
}

func copyOf(f io.ReaderAt, size int64) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, 0, size))
		return err
	}
}

// inflate gives a chunk's XML. Its deflate stream has no end of its own.
func inflate(c sheet.Chunk) ([]byte, error) {
	xml := make([]byte, c.Raw)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(c.Data)), xml); err != nil {
		return nil, fmt.Errorf("inflate a chunk: %w", err)
	}
	return xml, nil
}

var deflaters = sync.Pool{New: func() any {
	z, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // fails for an unknown level only
	return z
}}

// deflateAgain does what the sheet's encoder does to its XML: klauspost's fastest
// level, ended on a byte, and the CRC.
func deflateAgain(xml []byte) error {
	z := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(z)
	var out bytes.Buffer
	z.Reset(&out)
	_ = crc32.ChecksumIEEE(xml)
	if _, err := z.Write(xml); err != nil {
		return err
	}
	return z.Flush()
}
