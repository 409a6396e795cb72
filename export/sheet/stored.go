package sheet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The stored form of a chunk, version 1:
//
//	magic    4 bytes, "RMCK"
//	version  1 byte
//	length   8 bytes, little-endian: of the body
//	body     Sheet, First, Rows, Raw, CRC, bounds, losses, Data
//	sum      4 bytes, little-endian: CRC-32C of all that precedes
//
// Numbers in the body are varints (encoding/binary), unsigned but for a loss's
// key. Bounds and the two lists of losses are a count and their elements, a text
// is its length and its bytes, and Data is the rest of the body. Chunks that follow
// each other in a stream are read one by one.

const (
	chunkMagic   = "RMCK"
	chunkVersion = 1
	chunkHead    = len(chunkMagic) + 1 + 8
)

// MaxStoredChunk is the longest body of a stored chunk, in bytes: far more than
// a page of rows needs.
const MaxStoredChunk = 1 << 30

// What ReadChunk says of bytes that are no chunk to use.
var (
	// ErrChunkDamaged is of bytes that are cut short or altered, or never were a chunk.
	ErrChunkDamaged = errors.New("the stored chunk is damaged")
	// ErrChunkVersion is of a chunk in a form that this program does not know.
	ErrChunkVersion = errors.New("the stored chunk has another version")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteChunk writes the stored form of c, which any later version reads. It fails
// for a chunk past MaxStoredChunk, and one that no encoder makes.
func WriteChunk(w io.Writer, c Chunk) error {
	if err := c.plausible(); err != nil {
		return err
	}
	b := make([]byte, chunkHead, 1024)
	b = c.appendFields(b)
	length := len(b) - chunkHead + len(c.Data)
	if length > MaxStoredChunk {
		return fmt.Errorf("a chunk of %d bytes is too long to be stored; %d is the most", length, MaxStoredChunk)
	}
	copy(b, chunkMagic)
	b[len(chunkMagic)] = chunkVersion
	binary.LittleEndian.PutUint64(b[len(chunkMagic)+1:], uint64(length))
	sum := crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, c.Data)
	for _, part := range [][]byte{b, c.Data, binary.LittleEndian.AppendUint32(nil, sum)} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("store a chunk: %w", err)
		}
	}
	return nil
}

// plausible refuses what ReadChunk could not give back.
func (c *Chunk) plausible() error {
	switch {
	case c.Sheet < 0 || c.First < firstRow || c.Rows < 0 || c.Raw < 0:
		return fmt.Errorf("no chunk has sheet %d, first row %d, %d rows and %d bytes", c.Sheet, c.First, c.Rows, c.Raw)
	case len(c.Bounds) != 0 && len(c.Bounds) != c.Rows || len(c.Bounds) > MaxDataRows:
		return fmt.Errorf("a chunk of %d rows has the bounds of %d", c.Rows, len(c.Bounds))
	}
	for _, bound := range c.Bounds {
		if bound < 0 {
			return fmt.Errorf("no row has the bound %d", bound)
		}
	}
	return c.Losses.plausible()
}

func (c *Chunk) appendFields(b []byte) []byte {
	for _, n := range []int64{int64(c.Sheet), int64(c.First), int64(c.Rows), c.Raw, int64(c.CRC), int64(len(c.Bounds))} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, bound := range c.Bounds {
		b = binary.AppendUvarint(b, uint64(bound))
	}
	return c.Losses.appendFields(b)
}

// ReadChunk reads a stored chunk and not a byte past its end. At the end of r it
// gives io.EOF. Bytes that are no chunk are ErrChunkDamaged or ErrChunkVersion;
// they cost no more memory than a few times what r gives.
func ReadChunk(r io.Reader) (Chunk, error) {
	var head [chunkHead]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return Chunk{}, io.EOF
		}
		return Chunk{}, cutShort(err)
	}
	magic, version := string(head[:len(chunkMagic)]), head[len(chunkMagic)]
	if magic != chunkMagic {
		return Chunk{}, fmt.Errorf("%w: it begins with %q and not with %q", ErrChunkDamaged, magic, chunkMagic)
	}
	if version != chunkVersion {
		return Chunk{}, fmt.Errorf("%w: %d; this program reads version %d", ErrChunkVersion, version, chunkVersion)
	}
	length := binary.LittleEndian.Uint64(head[len(chunkMagic)+1:])
	if length > MaxStoredChunk {
		return Chunk{}, fmt.Errorf("%w: it says to have %d bytes; %d is the most", ErrChunkDamaged, length, MaxStoredChunk)
	}
	body, err := readBody(r, int64(length))
	if err != nil {
		return Chunk{}, err
	}
	var sum [crc32.Size]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil {
		return Chunk{}, cutShort(err)
	}
	want := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, body)
	if got := binary.LittleEndian.Uint32(sum[:]); got != want {
		return Chunk{}, fmt.Errorf("%w: its sum is %08x and not %08x", ErrChunkDamaged, got, want)
	}
	return parseChunk(body)
}

// firstRead is what is taken on a length's word alone.
const firstRead = 64 << 10

func readBody(r io.Reader, length int64) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(length, firstRead)))
	if _, err := io.CopyN(&body, r, length); err != nil {
		return nil, cutShort(err)
	}
	return body.Bytes(), nil
}

// cutShort tells a chunk that ends too early from a reader that fails.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut short", ErrChunkDamaged)
	}
	return fmt.Errorf("read a stored chunk: %w", err)
}

func parseChunk(body []byte) (Chunk, error) {
	f := &fields{rest: body}
	c := Chunk{Sheet: int(f.number()), First: int(f.number()), Rows: int(f.number()), Raw: f.number()}
	crc := f.number()
	if c.CRC = uint32(crc); int64(c.CRC) != crc {
		f.bad = true
	}
	if n := f.count(MaxDataRows); n > 0 {
		c.Bounds = make([]int64, n)
		for i := range c.Bounds {
			c.Bounds[i] = f.number()
		}
	}
	c.Losses = f.losses()
	c.Data = f.rest
	if f.bad {
		return Chunk{}, fmt.Errorf("%w: its fields are not whole", ErrChunkDamaged)
	}
	if err := c.plausible(); err != nil {
		return Chunk{}, fmt.Errorf("%w: %w", ErrChunkDamaged, err)
	}
	return c, nil
}
