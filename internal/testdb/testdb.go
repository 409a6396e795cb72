// Package testdb gives tests a MySQL database and a Redis of their own.
//
// Servers are those of ROWMILL_TEST_MYSQL_DSN (a DSN of a user that may create
// databases, without a database) and ROWMILL_TEST_REDIS_URL. Where one is not
// set, the process starts a throw-away server from the installed binaries, and
// stops it and removes its files when the last test that uses it has ended. A
// package with many tests keeps it for all of them:
//
//	func TestMain(m *testing.M) { os.Exit(testdb.Around(m).Run()) }
package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Runner runs tests, as *testing.M does.
type Runner interface{ Run() int }

// Around gives a Runner that keeps servers between the tests of m. It can be
// handed to goleak.VerifyTestMain, as nothing of a server is left after it.
func Around(m Runner) Runner { return around{m} }

type around struct{ Runner }

func (a around) Run() int {
	mariadb.hold()
	code := a.Runner.Run()
	if err := mariadb.release(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test server:", err)
		code = max(code, 1)
	}
	return code
}

// server is a process that tests share; start gives its stop.
type server struct {
	start func() (address string, stop func() error, err error)

	mu      sync.Mutex
	users   int
	address string
	stop    func() error
}

func (s *server) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// use starts the server if it does not run, and keeps it until the test's end.
func (s *server) use(t testing.TB) string {
	t.Helper()
	s.hold()
	t.Cleanup(func() {
		if err := s.release(); err != nil {
			t.Errorf("stop the test server: %v", err)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		var err error
		if s.address, s.stop, err = s.start(); err != nil {
			t.Fatalf("start a test server: %v", err)
		}
	}
	return s.address
}

func (s *server) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 || s.stop == nil {
		return nil
	}
	err := s.stop()
	s.stop = nil
	return err
}

// Bounds on a server's coming and going; a loaded machine is slow.
const (
	startWithin = 60 * time.Second
	stopWithin  = 30 * time.Second
	tryEvery    = 20 * time.Millisecond
)

// launch starts a server in dir and waits until it answers; the stop that it
// gives waits for the server's exit and removes dir.
func launch(cmd *exec.Cmd, dir string, answers func() error) (stop func() error, err error) {
	log, err := os.Create(dir + "/log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server writes to a handle of its own
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	var exit error // once exited is closed
	go func() {
		exit = cmd.Wait()
		close(exited)
	}()
	stop = func() error { return errors.Join(end(cmd, exited), os.RemoveAll(dir)) }
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	for {
		refused := answers()
		if refused == nil {
			return stop, nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(dir + "/log")
			return nil, errors.Join(exit, errors.New(string(text)), os.RemoveAll(dir))
		case <-deadline.C:
			return nil, errors.Join(refused, stop())
		case <-again.C:
		}
	}
}

// end asks the process to stop, and makes it if it does not.
func end(cmd *exec.Cmd, exited <-chan struct{}) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	patience := time.NewTimer(stopWithin)
	defer patience.Stop()
	select {
	case <-exited:
		return nil
	case <-patience.C:
		err := cmd.Process.Kill()
		<-exited
		return err
	}
}
