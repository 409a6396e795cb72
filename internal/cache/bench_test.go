package cache

import (
	"testing"
	"time"

	"rowmill/internal/testdb"
)

func BenchmarkFirstHit(b *testing.B) {
	c := open(b, newSource(), func(c *textConfig) { c.FirstTTL = time.Hour })
	get(b, c, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, _, err := c.Get(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFirstHitParallel(b *testing.B) {
	c := open(b, newSource(), func(c *textConfig) { c.FirstTTL = time.Hour })
	get(b, c, 1)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, _, err := c.Get(b.Context(), 1); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkSecondHit(b *testing.B) {
	from := newSource()
	from.set(1, "value")
	c := process(b, testdb.Redis(b), from)
	get(b, c, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		c.first.Invalidate(1)
		if _, _, err := c.Get(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
	if loads := from.count(); loads != 1 {
		b.Errorf("%d loads, want 1", loads)
	}
}

func BenchmarkLoad(b *testing.B) {
	from := newSource()
	from.set(1, "value")
	c := process(b, testdb.Redis(b), from)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if err := c.Invalidate(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
		if _, _, err := c.Get(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

// From the call of Invalidate in one process until another has dropped the value.
func BenchmarkInvalidationReachesAnother(b *testing.B) {
	url, from := testdb.Redis(b), newSource()
	dropped := make(chan struct{}, 1)
	one := process(b, url, from)
	process(b, url, from, func(c *textConfig) {
		c.Observe = func(e Event) {
			if e == Dropped {
				dropped <- struct{}{}
			}
		}
	})
	longest := time.Duration(0)
	b.ResetTimer()
	for b.Loop() {
		began := time.Now()
		if err := one.Invalidate(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
		<-dropped
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs/longest")
}
