//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
)

func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument only
	return u
}

func processCPU() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// maxResident is the most memory that the process has had resident in its life.
func maxResident() int64 {
	kib := int64(usage().Maxrss)  //nolint:unconvert // it is an int32 on 32-bit systems
	if runtime.GOOS == "darwin" { // which counts bytes
		return kib
	}
	return kib << 10
}
