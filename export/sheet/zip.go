package sheet

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
)

// entry is a zip entry that is made of deflated parts. Each part is a run of
// whole deflate blocks that ends on a byte and looks back at no other part, so
// their concatenation is one deflate stream (RFC 1951).
type entry struct {
	header *zip.FileHeader // the zip writer keeps it, and reads the sums at the entry's end
	w      io.Writer
	crc    uint32
	raw    int64
	packed int64
}

func newEntry(z *zip.Writer, name string) (*entry, error) {
	const dataDescriptor = 0x8 // the sums follow the data (APPNOTE.TXT 4.4.4)
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Flags: dataDescriptor}
	w, err := z.CreateRaw(h)
	if err != nil {
		return nil, fmt.Errorf("start zip entry %s: %w", name, err)
	}
	return &entry{header: h, w: w}, nil
}

// add joins deflated bytes that stand for raw bytes with the CRC.
func (e *entry) add(data []byte, raw int64, crc uint32) error {
	if _, err := e.w.Write(data); err != nil {
		return fmt.Errorf("write zip entry %s: %w", e.header.Name, err)
	}
	e.crc = combineCRC(e.crc, crc, raw)
	e.raw += raw
	e.packed += int64(len(data))
	return nil
}

// finalBlock is an empty stored block that ends a deflate stream (RFC 1951, 3.2.4).
const finalBlock = "\x01\x00\x00\xff\xff"

// end closes the deflate stream. The sums must stand in the header before the
// next entry starts.
func (e *entry) end() error {
	if err := e.add([]byte(finalBlock), 0, 0); err != nil {
		return err
	}
	h := e.header
	h.CRC32 = e.crc
	h.CompressedSize64, h.UncompressedSize64 = uint64(e.packed), uint64(e.raw)
	// The writer takes a data descriptor of less than 4 GiB from the old fields.
	h.CompressedSize = uint32(min(h.CompressedSize64, math.MaxUint32))     //nolint:staticcheck // deprecated for readers; the zip writer reads it
	h.UncompressedSize = uint32(min(h.UncompressedSize64, math.MaxUint32)) //nolint:staticcheck // as above
	return nil
}
