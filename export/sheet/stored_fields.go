package sheet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxKinds is how many kinds of losses a stored chunk may have.
const maxKinds = 64

// plausible refuses what a stored chunk cannot hold.
func (l *Losses) plausible() error {
	if len(l.Counts) > maxKinds || len(l.Places) > MaxLossPlaces {
		return fmt.Errorf("a chunk has %d kinds of losses and lists %d; %d and %d are the most", len(l.Counts), len(l.Places), maxKinds, MaxLossPlaces)
	}
	for kind, n := range l.Counts {
		if n < 0 {
			return fmt.Errorf("%d losses of kind %q", n, kind)
		}
	}
	for _, p := range l.Places {
		if p.Sheet < 0 || p.Row < 0 {
			return fmt.Errorf("a loss in row %d of sheet %d", p.Row, p.Sheet)
		}
	}
	return nil
}

func (l *Losses) appendFields(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(l.Counts)))
	for _, kind := range slices.Sorted(maps.Keys(l.Counts)) { // the same chunk has the same bytes
		b = appendText(b, string(kind))
		b = binary.AppendUvarint(b, uint64(l.Counts[kind]))
	}
	b = binary.AppendUvarint(b, uint64(len(l.Places)))
	for _, p := range l.Places {
		b = appendText(b, string(p.Kind))
		b = binary.AppendUvarint(b, uint64(p.Sheet))
		b = binary.AppendUvarint(b, uint64(p.Row))
		b = appendText(b, p.Column)
		b = binary.AppendVarint(b, p.Key)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// fields reads the fields of a stored chunk. Once one is bad, all that follow are
// zero.
type fields struct {
	rest []byte
	bad  bool
}

// take steps over the n bytes of a number; 0 or less says that there was none.
func (f *fields) take(n int) bool {
	f.bad = f.bad || n <= 0
	if f.bad {
		f.rest = nil
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// number reads a number that is not negative.
func (f *fields) number() int64 {
	x, n := binary.Uvarint(f.rest)
	if x > math.MaxInt64 {
		n = 0
	}
	if !f.take(n) {
		return 0
	}
	return int64(x)
}

// key reads a number of either sign.
func (f *fields) key() int64 {
	x, n := binary.Varint(f.rest)
	if !f.take(n) {
		return 0
	}
	return x
}

// count reads how many elements follow, each of one byte or more: no memory is
// taken for more than there can be.
func (f *fields) count(most int) int {
	n := f.number()
	if n > int64(min(most, len(f.rest))) {
		f.bad = true
		return 0
	}
	return int(n)
}

func (f *fields) text() string {
	n := f.count(len(f.rest))
	s := string(f.rest[:n])
	f.rest = f.rest[n:]
	return s
}

func (f *fields) losses() (l Losses) {
	kinds := f.count(maxKinds)
	for ; kinds > 0 && !f.bad; kinds-- {
		kind := LossKind(f.text())
		if l.Counts == nil {
			l.Counts = map[LossKind]int64{}
		}
		if _, twice := l.Counts[kind]; twice {
			f.bad = true
		}
		l.Counts[kind] = f.number()
	}
	places := f.count(MaxLossPlaces)
	for ; places > 0 && !f.bad; places-- {
		l.Places = append(l.Places, Loss{
			Kind: LossKind(f.text()), Sheet: int(f.number()), Row: int(f.number()), Column: f.text(), Key: f.key(),
		})
	}
	return l
}
