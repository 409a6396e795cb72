package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"rowmill/export/sheet"
)

// A finished segment is stored with all that the file and the receipt need of it.
// Version 1 of its form, integers in big endian:
//
//	"rowmill-part" · version uint32 · bytes of the head uint32 · the head in JSON
//	the keys of its rows: a 64-bit roaring bitmap in the portable format
//	its chunks, as sheet.WriteChunk writes them
//	SHA-256 of all before it
//
// The form is a contract between releases, as that of a list.
const (
	partMagic   = "rowmill-part"
	partVersion = 1

	partPreamble = len(partMagic) + 8
	maxPartHead  = 64 << 10
	// maxPart bounds what is read of a segment at once, and so what is stored.
	maxPart = 512 << 20
)

// partHead is what a stored segment says of itself.
type partHead struct {
	JobID       string    `json:"job_id"`
	Snapshot    int       `json:"snapshot"` // the attempt that took it
	Segment     int       `json:"segment"`
	Attempt     int       `json:"attempt"` // that made it
	Form        string    `json:"form"`    // fingerprint of how it was made: see formed
	After       int64     `json:"after"`   // rows of the snapshot before it
	Rows        int64     `json:"rows"`    // written
	Deleted     int64     `json:"deleted"`
	Pages       int64     `json:"pages"`
	Statements  int64     `json:"statements"`
	FirstKey    int64     `json:"first_key"` // of the first row; 0 without rows
	LastKey     int64     `json:"last_key"`
	FirstPageAt time.Time `json:"first_page_at"`
	LastPageAt  time.Time `json:"last_page_at"`
	Chunks      int       `json:"chunks"`
	KeyBytes    int       `json:"key_bytes"`
}

// part is a segment whose rows are fetched and encoded.
type part struct {
	partHead
	keys   *roaring64.Bitmap
	chunks []sheet.Chunk

	elsewhere bool // read, and made in this attempt: another made it
}

// writePart stores a segment.
func writePart(w io.Writer, p *part) error {
	p.keys.RunOptimize()
	keys, err := p.keys.ToBytes()
	if err != nil {
		return fmt.Errorf("encode the keys of a segment: %w", err)
	}
	p.KeyBytes, p.Chunks = len(keys), len(p.chunks)
	text, err := json.Marshal(p.partHead)
	if err != nil {
		return fmt.Errorf("encode the head of a segment: %w", err)
	}
	sum := sha256.New()
	to := io.MultiWriter(w, sum)
	b := binary.BigEndian.AppendUint32([]byte(partMagic), partVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, text...), keys...)
	if _, err := to.Write(b); err != nil {
		return fmt.Errorf("write a segment: %w", err)
	}
	for _, c := range p.chunks {
		if err := sheet.WriteChunk(to, c); err != nil {
			return fmt.Errorf("write a chunk of a segment: %w", err)
		}
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("write the checksum of a segment: %w", err)
	}
	return nil
}

// readPart reads a stored segment whole. It is what its checksum says, and its
// parts are as many as it says; whether it is the one that is wanted is for storedPart to say.
func readPart(r io.ReaderAt, size int64) (*part, error) {
	if size < int64(partPreamble+sha256.Size) || size > maxPart {
		return nil, unusable("%d bytes are no segment", size)
	}
	all, err := readAt(r, 0, size, size)
	if err != nil {
		return nil, err
	}
	body, sum := all[:size-sha256.Size], all[size-sha256.Size:]
	version, length := binary.BigEndian.Uint32(body[len(partMagic):]), binary.BigEndian.Uint32(body[len(partMagic)+4:])
	if string(body[:len(partMagic)]) != partMagic || version != partVersion || length > maxPartHead || int(length) > len(body)-partPreamble {
		return nil, unusable("it is not a segment of version %d", partVersion)
	}
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, unusable("a segment is not what its checksum says")
	}
	p := &part{keys: roaring64.New()}
	if err := json.Unmarshal(body[partPreamble:partPreamble+int(length)], &p.partHead); err != nil {
		return nil, unusable("the head of a segment: %v", err)
	}
	body = body[partPreamble+int(length):]
	if p.KeyBytes < 0 || p.KeyBytes > len(body) {
		return nil, unusable("a segment ends within its keys")
	}
	if err := p.keys.UnmarshalBinary(body[:p.KeyBytes]); err != nil {
		return nil, unusable("the keys of a segment: %v", err)
	}
	return p, p.readChunks(bytes.NewReader(body[p.KeyBytes:]))
}

func (p *part) readChunks(r *bytes.Reader) error {
	rows := int64(0)
	for range p.Chunks {
		c, err := sheet.ReadChunk(r)
		if err != nil {
			return unusable("a chunk of a segment: %v", err)
		}
		rows += int64(c.Rows)
		p.chunks = append(p.chunks, c)
	}
	if r.Len() > 0 || rows != p.Rows || p.keys.GetCardinality() != uint64(p.Rows) {
		return unusable("a segment of %d rows has %d in its chunks and %d keys", p.Rows, rows, p.keys.GetCardinality())
	}
	return nil
}
