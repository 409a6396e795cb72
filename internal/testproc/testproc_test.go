package testproc

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("/bin/sh", os.Environ(), "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

const says = `echo 'no JSON' >&2; echo '{"msg":"listening","server":"admin","addr":"127.0.0.1:1"}' >&2; `

func TestAProcessTellsWhereItListensAndHowItEnds(t *testing.T) {
	p := start(t, "trap 'exit 7' TERM; "+says+"while :; do sleep 0.01; done")
	if addr, err := p.Addr(t.Context(), "admin"); addr != "127.0.0.1:1" || err != nil {
		t.Errorf("it listens at %q, %v", addr, err)
	}
	if err := p.Stop(); err != nil || p.ExitCode() != 7 {
		t.Errorf("it ends with %d, %v", p.ExitCode(), err)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Errorf("a signal to an ended process: %v", err)
	}
}

func TestTheWaitForAnAddressEndsWithTheProcessAndWithItsContext(t *testing.T) {
	ended := start(t, says+"exit 1")
	if _, err := ended.Addr(t.Context(), "gateway"); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("of an ended process: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := start(t, "exec sleep 60").Addr(ctx, "gateway"); err == nil {
		t.Error("it listens nowhere, and there is an address")
	}
}

func TestAProgramThatDoesNotBuildIsToldAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := Build("rowmill/there-is-none"); err == nil {
		t.Error("it was built")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
