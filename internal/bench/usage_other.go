//go:build !unix

package bench

import "time"

// The figures are 0 where the system has no getrusage.
func processCPU() time.Duration { return 0 }
func maxResident() int64        { return 0 }
