// Package testproc builds the product's binary for tests and runs it in processes
// of their own, as it is shipped: tests that kill, stop or starve it need that.
package testproc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Build builds the package that main is in, by its import path, into a new
// directory, and gives the binary's path. Who asks removes its directory.
func Build(main string) (path string, err error) {
	dir, err := os.MkdirTemp("", "rowmill-test-*")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "rowmill")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", path, main) //nolint:gosec // a test's own package
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w: %s", main, err, out), os.RemoveAll(dir))
	}
	return path, nil
}

// Process is a running process of the product whose log is JSON.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}

	mu     sync.Mutex
	log    bytes.Buffer
	addrs  map[string]string // by the server's name
	listen chan struct{}     // closed and made anew by each address
}

// Start starts the binary. Who starts it sees to its end.
func Start(path string, env []string, args ...string) (*Process, error) {
	p := &Process{exited: make(chan struct{}), addrs: map[string]string{}, listen: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), path, args...) //nolint:gosec // what the test has built
	p.cmd.Env = env
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stderr)
	return p, nil
}

// read keeps the log and the addresses in it, and waits for the process's end.
func (p *Process) read(stderr io.Reader) {
	for lines := bufio.NewReader(stderr); ; {
		line, err := lines.ReadBytes('\n')
		p.keep(line)
		if err != nil {
			break
		}
	}
	_ = p.cmd.Wait() // how it ended is told by ExitCode
	close(p.exited)
}

func (p *Process) keep(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.Write(line)
	var said struct {
		Msg    string `json:"msg"`
		Server string `json:"server"`
		Addr   string `json:"addr"`
	}
	if json.Unmarshal(line, &said) == nil && said.Msg == "listening" {
		p.addrs[said.Server] = said.Addr
		close(p.listen)
		p.listen = make(chan struct{})
	}
}

// Addr waits until the named server of the process listens and gives its host:port.
func (p *Process) Addr(ctx context.Context, server string) (string, error) {
	for {
		p.mu.Lock()
		addr, next := p.addrs[server], p.listen
		p.mu.Unlock()
		if addr != "" {
			return addr, nil
		}
		select {
		case <-next:
		case <-p.exited:
			return "", fmt.Errorf("the process has ended and listens not as %s: %s", server, p.Log())
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the %s: %w: %s", server, ctx.Err(), p.Log())
		}
	}
}

// Log gives what the process has written so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// PID gives the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// ExitCode gives how an ended process has ended, -1 by a signal.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Signal sends a signal; to an ended process none.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v: %w", s, err)
	}
	return nil
}

// ErrNoEnd is that a process did not end after SIGTERM and was killed.
var ErrNoEnd = errors.New("the process did not end within 30 s of its signal")

// Stop asks the process to end by SIGTERM and waits for that; after 30 s it kills it.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}

// Wait waits up to 30 s for the process's end, and kills it then.
func (p *Process) Wait() error {
	patience := time.NewTimer(30 * time.Second)
	defer patience.Stop()
	select {
	case <-p.exited:
		return nil
	case <-patience.C:
		return errors.Join(ErrNoEnd, p.Kill())
	}
}

// Kill ends the process by SIGKILL and waits until it is gone.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	<-p.exited
	return err
}
