package export

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// PartsOf cuts a set of keys as an attempt cuts its own.
func PartsOf(keys iter.Seq[int64], limit uint64) ([]RowSetPart, error) {
	set := roaring64.New()
	for key := range keys {
		set.Add(uint64(key))
	}
	return partsOf(set, limit)
}
