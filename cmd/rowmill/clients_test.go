package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const clientsDir = "../../test/clients"

// Programs that others wrote work against the binary unchanged: refine's and
// react-admin's data providers for json-server, on the public sample.
func TestOtherPeoplesClientsWorkUnchanged(t *testing.T) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("install the packages nodejs and npm (Debian's names): %v", err)
		}
	}
	inClients(t, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	h := newHouse(t)
	h.tool(t, "import", "hotel-bookings", samplePath)
	h.serve(t)
	said := inClients(t, []string{"ROWMILL_URL=" + h.gateway, "ROWMILL_TOKEN=" + testToken}, "npm", "test")
	const least = 40 // a runner that finds no test succeeds too
	var passed int
	if m := regexp.MustCompile(`(?m)^# pass (\d+)$`).FindStringSubmatch(said); m != nil {
		passed, _ = strconv.Atoi(m[1])
	}
	if passed < least {
		t.Errorf("%d tests have passed, of at least %d:\n%s", passed, least, said)
	}
}

// inClients runs a command where the clients are, and gives what it said.
func inClients(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = clientsDir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npm starts others, which must end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
