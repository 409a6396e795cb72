package reservationhttp

import (
	"context"
	"runtime"
	"testing"

	"rowmill/export"
	"rowmill/reservation"
)

// A snapshot is held once, by the client, packed: about three bytes an id. The
// server's half and the decoding hold no more than a buffer each.
func TestAMillionIDsTakeAFewMegabytes(t *testing.T) {
	const ids, step = 1_000_000, 617_283 // which has no factor of a million: each id once, in no order
	var heap runtime.MemStats
	held := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&heap)
		return int64(heap.HeapAlloc)
	}
	before, most := int64(0), int64(0)
	base, _ := serve(t, &fakeStore{snapshotHook: func(_ context.Context, each func([]int64) error) (reservation.Snapshot, error) {
		run := make([]int64, 0, 1000)
		for i := int64(1); i <= ids; i++ {
			if run = append(run, i*step%ids+1); len(run) < cap(run) {
				continue
			}
			if err := each(run); err != nil {
				return reservation.Snapshot{}, err
			}
			run = run[:0]
			switch {
			case i == ids/10:
				before = held()
			case i%(ids/10) == 0:
				most = max(most, held()-before)
			}
		}
		return reservation.Snapshot{At: snapshotAt, Total: ids}, nil
	}})
	snapshot, err := NewDataset(newTestClient(t, base), 0).Source.Snapshot(t.Context(), inTheClear, export.Request{})
	if err != nil || snapshot.Total != ids || len(snapshot.Pages) != ids/DefaultPageSize {
		t.Fatalf("%d ids in %d pages, %v", snapshot.Total, len(snapshot.Pages), err)
	}
	bytes := 0
	for _, p := range snapshot.Pages {
		bytes += len(p.Token)
	}
	if bytes > 3_100_000 {
		t.Errorf("the tokens take %d bytes", bytes)
	}
	if most > 4_000_000 { // of 900,000 ids, which would be 7.2 MB as they are
		t.Errorf("%d bytes were held besides", most)
	}
	t.Logf("%d bytes of tokens, %d bytes more held at the end than after a tenth", bytes, most)
}

// BenchmarkPack packs a million ids in no order.
func BenchmarkPack(b *testing.B) {
	const ids, step = 1_000_000, 617_283
	b.ReportAllocs()
	for b.Loop() {
		p := packer{size: DefaultPageSize}
		for i := range int64(ids) {
			p.add(i*step%ids + 1)
		}
		if len(p.pages) != ids/DefaultPageSize {
			b.Fatal(len(p.pages))
		}
	}
}
