package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// serverProcess is the database server, where it runs on this machine and the system
// tells what its processes take.
type serverProcess struct{ stat string }

// clockTick is the unit of /proc/<pid>/stat on every Linux of today.
const clockTick = 10 * time.Millisecond

// findServer gives the process of the MySQL server; nil if it cannot be known.
func (d *database) findServer(ctx context.Context) *serverProcess {
	var file string
	if d.mine || d.raw.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&file) != nil {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil
	}
	// A file of that name may be another server's, and the number another process's.
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || !strings.HasPrefix(string(name), "mariadbd") && !strings.HasPrefix(string(name), "mysqld") {
		return nil
	}
	return &serverProcess{fmt.Sprintf("/proc/%d/stat", pid)}
}

// cpu gives the process's time so far, user and system; 0 if it is not known.
func (p *serverProcess) cpu() time.Duration {
	if p == nil {
		return 0
	}
	text, err := os.ReadFile(p.stat)
	if err != nil {
		return 0
	}
	return cpuOf(string(text))
}

// cpuOf reads a line of /proc/<pid>/stat. Its second field, a name in brackets, may hold
// anything; the times are the 12th and 13th after it.
func cpuOf(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * clockTick
}
