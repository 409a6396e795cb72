package export

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// RowSets keeps which rows are in the files, for those who ask later who took a
// row out.
type RowSets interface {
	// Put stores the set of an attempt, whole or not at all as far as its readers
	// see: they look only at attempts that published a file, which comes after.
	Put(ctx context.Context, f Fence, set RowSet) error
}

// RowSet is the keys of the rows that an attempt wrote.
type RowSet struct {
	Dataset string
	At      time.Time
	Parts   []RowSetPart // each of keys of its own, ascending; none of an empty file
}

// RowSetPart is a run of a set's keys, from Min to Max.
type RowSetPart struct {
	Min, Max int64
	Rows     int64
	Keys     []byte // 64-bit roaring bitmap in the portable format, at most MaxRowSetPart bytes
}

// MaxRowSetPart bounds a part's Keys, in bytes. Escaped into a statement it may
// take twice that, which is within MySQL's smallest max_allowed_packet (4 MiB).
const MaxRowSetPart = 1 << 20

// Contains reports whether the key is among those of the part.
func (p RowSetPart) Contains(key int64) (bool, error) {
	set := roaring64.New()
	err := set.UnmarshalBinary(p.Keys)
	if err == nil && set.GetCardinality() != uint64(p.Rows) {
		err = fmt.Errorf("it has %d keys, not %d", set.GetCardinality(), p.Rows)
	}
	if err != nil {
		return false, fmt.Errorf("read a set of row keys: %w", err)
	}
	return set.Contains(uint64(key)), nil
}

// partsOf cuts a set into parts of at most limit bytes.
func partsOf(set *roaring64.Bitmap, limit uint64) ([]RowSetPart, error) {
	if set.IsEmpty() {
		return nil, nil
	}
	set.RunOptimize()
	rows := set.GetCardinality()
	if set.GetSerializedSizeInBytes() <= limit || rows == 1 {
		keys, err := set.ToBytes()
		if err != nil {
			return nil, fmt.Errorf("encode a set of row keys: %w", err)
		}
		return []RowSetPart{{Min: int64(set.Minimum()), Max: int64(set.Maximum()), Rows: int64(rows), Keys: keys}}, nil
	}
	middle, err := set.Select(rows / 2)
	if err != nil {
		return nil, fmt.Errorf("halve a set of row keys: %w", err)
	}
	low, high := set.Clone(), set
	low.RemoveRange(middle, set.Maximum()+1)
	high.RemoveRange(0, middle)
	parts, err := partsOf(low, limit)
	if err != nil {
		return nil, err
	}
	rest, err := partsOf(high, limit)
	return append(parts, rest...), err
}

// storeRows keeps the set of the rows written. It consumes a.keys.
func (a *attempt) storeRows(ctx context.Context) error {
	if !a.keys.IsEmpty() && a.keys.Maximum() > math.MaxInt64 {
		return fmt.Errorf("a row has the key %d: keys are not negative", int64(a.keys.Maximum()))
	}
	parts, err := partsOf(a.keys, MaxRowSetPart)
	if err != nil {
		return err
	}
	set := RowSet{Dataset: a.job.Request.Dataset, At: a.cfg.Now(), Parts: parts}
	if err := a.cfg.RowSets.Put(ctx, a.fence, set); err != nil {
		return fmt.Errorf("store which rows are in the file: %w", err)
	}
	return nil
}
