package sheet

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// fastest is the deflate level: level 6 costs three times the CPU for a sixth
// less bytes.
const fastest = flate.BestSpeed

// deflater deflates a part of an entry in memory.
type deflater struct {
	out bytes.Buffer
	z   *flate.Writer
	crc uint32
	raw int64
}

var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.z, _ = flate.NewWriter(&d.out, fastest) // fails for an unknown level only
	return d
}}

func newDeflater() *deflater {
	d := deflaters.Get().(*deflater)
	d.out.Reset()
	d.z.Reset(&d.out)
	d.crc, d.raw = 0, 0
	return d
}

func (d *deflater) Write(p []byte) (int, error) {
	d.crc = crc32.Update(d.crc, crc32.IEEETable, p)
	d.raw += int64(len(p))
	return d.z.Write(p)
}

// part ends the part on a byte and gives it; d must not be used after.
func (d *deflater) part() (data []byte, raw int64, crc uint32, err error) {
	if err := d.z.Flush(); err != nil {
		return nil, 0, 0, fmt.Errorf("deflate: %w", err)
	}
	data, raw, crc = bytes.Clone(d.out.Bytes()), d.raw, d.crc
	deflaters.Put(d)
	return data, raw, crc, nil
}
