package sheet_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/export/sheet"
)

// FuzzReadChunk reads any bytes, and any body that has a right head and sum around
// it: what is read must be what is stored of it.
func FuzzReadChunk(f *testing.F) {
	whole := stored(f, sampleChunk())
	f.Add(whole)
	f.Add(whole[13 : len(whole)-4])
	f.Add(stored(f, sheet.Chunk{First: 2}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, sealed(b, uint64(len(b)))} {
			c, err := sheet.ReadChunk(bytes.NewReader(b))
			if err != nil {
				continue
			}
			again, err := sheet.ReadChunk(bytes.NewReader(stored(t, c)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("stored again (-first +second):\n%s", diff)
			}
		}
	})
}
