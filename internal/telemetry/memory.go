package telemetry

import "runtime/metrics"

// HeldMemory gives the bytes of memory that the process holds: what the Go runtime
// has mapped less what it has given back.
func HeldMemory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
