package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"
)

// A big job's snapshot is stored, so that a later attempt, or another worker, goes
// on with the very same list of rows. Version 1 of its form, integers in big
// endian:
//
//	"rowmill-list" · version uint32 · bytes of the head uint32 · the head in JSON
//	for each segment: offset, rows, rows before it (uint64); bytes, pages, CRC-32C (uint32)
//	CRC-32C uint32 of all before it
//	for each segment, for each of its pages: rows, bytes of the token (varint), token
//
// So the tokens of one segment are read, and checked, without the others. The
// form is a contract between releases: a new version is read before it is written.
const (
	listMagic   = "rowmill-list"
	listVersion = 1

	listPreamble = len(listMagic) + 8
	listEntry    = 3*8 + 3*4
	maxListHead  = 64 << 10
)

// errSegments is a stored list or segment that is broken, or not one of this
// job: it counts for nothing and what it held is made anew.
var errSegments = errors.New("a stored part of the job cannot be used")

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSegments, fmt.Sprintf(format, args...))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// listHead is what a stored snapshot says of itself.
type listHead struct {
	JobID        string    `json:"job_id"`
	Attempt      int       `json:"attempt"` // that took it
	Query        string    `json:"query"`   // fingerprint of what was asked: see querying
	At           time.Time `json:"at"`
	Total        int64     `json:"total"`
	Statements   int64     `json:"statements"`
	SegmentPages int       `json:"segment_pages"` // of each but the last
	Segments     int       `json:"segments"`
}

// listSegment is where a segment of the list stands.
type listSegment struct {
	offset        int64 // from the end of the index
	rows, after   int64 // in the snapshot: of the segment, and before it
	length, pages uint32
	crc           uint32
}

// cutList cuts the pages into segments and gives the index of their stored form.
func cutList(pages []PageToken, segmentPages int) (index []listSegment) {
	var block []byte
	offset, after := int64(0), int64(0)
	for run := range slices.Chunk(pages, segmentPages) {
		block = appendTokens(block[:0], run)
		s := listSegment{offset: offset, after: after, length: uint32(len(block)), pages: uint32(len(run)), crc: crc32.Checksum(block, castagnoli)}
		for _, p := range run {
			s.rows += int64(p.Rows)
		}
		index = append(index, s)
		offset, after = offset+int64(len(block)), after+s.rows
	}
	return index
}

func appendTokens(b []byte, pages []PageToken) []byte {
	for _, p := range pages {
		b = binary.AppendUvarint(b, uint64(p.Rows))
		b = binary.AppendUvarint(b, uint64(len(p.Token)))
		b = append(b, p.Token...)
	}
	return b
}

// writeList stores a snapshot's pages, cut as the index says.
func writeList(w io.Writer, head listHead, index []listSegment, pages []PageToken) error {
	text, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encode the head of a list: %w", err)
	}
	b := binary.BigEndian.AppendUint32([]byte(listMagic), listVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	for _, s := range index {
		for _, n := range []int64{s.offset, s.rows, s.after} {
			b = binary.BigEndian.AppendUint64(b, uint64(n))
		}
		for _, n := range []uint32{s.length, s.pages, s.crc} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write the index of a list: %w", err)
	}
	for run := range slices.Chunk(pages, head.SegmentPages) {
		b = appendTokens(b[:0], run)
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write the pages of a list: %w", err)
		}
	}
	return nil
}

// storedList is a stored snapshot that is being read.
type storedList struct {
	listHead
	from   io.ReaderAt
	blocks int64 // where the first segment starts
	index  []listSegment
	close  func() error
}

// readList reads a stored snapshot's head and index, which hold together. Its
// segments are read one by one.
func readList(r io.ReaderAt, size int64) (*storedList, error) {
	preamble, err := readAt(r, 0, int64(listPreamble), size)
	if err != nil {
		return nil, err
	}
	version, length := binary.BigEndian.Uint32(preamble[len(listMagic):]), binary.BigEndian.Uint32(preamble[len(listMagic)+4:])
	if string(preamble[:len(listMagic)]) != listMagic || version != listVersion || length > maxListHead {
		return nil, unusable("it is not a list of version %d", listVersion)
	}
	text, err := readAt(r, int64(listPreamble), int64(length), size)
	if err != nil {
		return nil, err
	}
	l := &storedList{from: r}
	if err := json.Unmarshal(text, &l.listHead); err != nil {
		return nil, unusable("the head of the list: %v", err)
	}
	at := int64(listPreamble) + int64(length)
	if l.Segments < 0 || int64(l.Segments) > (size-at)/listEntry {
		return nil, unusable("the list is shorter than its %d segments", l.Segments)
	}
	entries, err := readAt(r, at, int64(l.Segments*listEntry+4), size)
	if err != nil {
		return nil, err
	}
	crc := crc32.Update(crc32.Checksum(preamble, castagnoli), castagnoli, text)
	if crc = crc32.Update(crc, castagnoli, entries[:len(entries)-4]); crc != binary.BigEndian.Uint32(entries[len(entries)-4:]) {
		return nil, unusable("the index of the list is not what its checksum says")
	}
	l.readIndex(entries[:len(entries)-4])
	l.blocks = at + int64(len(entries))
	return l, l.consistent(size - l.blocks)
}

func (l *storedList) readIndex(b []byte) {
	next64 := func() int64 { n := binary.BigEndian.Uint64(b); b = b[8:]; return int64(n) }
	next32 := func() uint32 { n := binary.BigEndian.Uint32(b); b = b[4:]; return n }
	for len(b) > 0 {
		l.index = append(l.index, listSegment{offset: next64(), rows: next64(), after: next64(), length: next32(), pages: next32(), crc: next32()})
	}
}

// consistent checks that the segments follow each other up to the end.
func (l *storedList) consistent(size int64) error {
	at, after := int64(0), int64(0)
	for i, s := range l.index {
		if s.offset != at || s.after != after || s.rows < 0 || s.pages == 0 {
			return unusable("segment %d of the list does not follow the one before", i)
		}
		at, after = at+int64(s.length), after+s.rows
	}
	if at != size || after != l.Total {
		return unusable("the list has %d bytes of pages and %d rows, and its segments %d and %d", size, l.Total, at, after)
	}
	return nil
}

// tokens reads the pages of a segment.
func (l *storedList) tokens(segment int) ([]PageToken, error) {
	if segment < 0 || segment >= len(l.index) {
		return nil, unusable("the list has no segment %d", segment)
	}
	s := l.index[segment]
	b, err := readAt(l.from, l.blocks+s.offset, int64(s.length), l.blocks+s.offset+int64(s.length))
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != s.crc {
		return nil, unusable("segment %d of the list is not what its checksum says", segment)
	}
	var pages []PageToken
	for len(b) > 0 {
		rows, n := binary.Uvarint(b)
		length, m := binary.Uvarint(b[max(0, n):])
		if n <= 0 || m <= 0 || length > uint64(len(b)-n-m) || rows > uint64(s.rows) {
			return nil, unusable("segment %d of the list: a page cannot be read", segment)
		}
		b = b[n+m:]
		pages = append(pages, PageToken{Rows: int(rows), Token: b[:length:length]})
		b = b[length:]
	}
	if len(pages) != int(s.pages) {
		return nil, unusable("segment %d of the list has %d pages, not %d", segment, len(pages), s.pages)
	}
	return pages, nil
}

// load reads and checks every segment, which are then read from memory: the stored
// list may go while its attempt lasts.
func (l *storedList) load() error {
	length := int64(0)
	for _, s := range l.index {
		length += int64(s.length)
	}
	b, err := readAt(l.from, l.blocks, length, l.blocks+length)
	if err != nil {
		return err
	}
	l.from, l.blocks = bytes.NewReader(b), 0
	for i := range l.index {
		if _, err := l.tokens(i); err != nil {
			return err
		}
	}
	return nil
}

// readAt reads n bytes of a file of size bytes, without taking memory for more
// than there are.
func readAt(r io.ReaderAt, at, n, size int64) ([]byte, error) {
	if n < 0 || at+n > size {
		return nil, unusable("it ends after %d bytes", size)
	}
	b := make([]byte, n)
	if read, err := r.ReadAt(b, at); read < len(b) {
		if errors.Is(err, io.EOF) {
			return nil, unusable("it ends within what it says of itself")
		}
		return nil, fmt.Errorf("read a stored part of the job: %w", err)
	}
	return b, nil
}
