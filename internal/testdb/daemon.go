package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// Daemon is a server of the test's own on a port of 127.0.0.1, for tests that
// stop it, kill it and start it anew on the same port. It ends with its test. It
// is not safe for concurrent use.
type Daemon struct {
	Addr string // host:port

	command func() *exec.Cmd
	answers func(context.Context) error
	log     string
	cmd     *exec.Cmd
	exited  chan struct{}
}

// OwnMySQL starts a MariaDB of the test's own, whose user root has no password.
// What it has answered survives its being killed.
func OwnMySQL(t testing.TB) *Daemon {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := serverDir(t, "mysql")
	data := filepath.Join(dir, "data")
	install := exec.CommandContext(t.Context(), "mariadb-install-db", "--no-defaults", "--datadir="+data, "--user="+me.Username,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	install.Env = append(os.Environ(), "TMPDIR="+dir) // a MariaDB that starts removes the others' temporary tables from a shared one
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v: %s", err, out)
	}
	return own(t, dir, func(d *Daemon, port string) {
		d.command = func() *exec.Cmd {
			return exec.Command("mariadbd", "--no-defaults", "--user="+me.Username, "--datadir="+data, "--socket="+filepath.Join(dir, "s"),
				"--pid-file="+filepath.Join(dir, "pid"), "--tmpdir="+dir, "--bind-address=127.0.0.1", "--port="+port, "--skip-name-resolve", "--character-set-server=utf8mb4",
				"--max-connections=300", "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--innodb-log-file-size=64M", "--innodb-buffer-pool-size=128M")
		}
		c := mysql.NewConfig()
		c.User, c.Net, c.Addr, c.Logger = "root", "unix", filepath.Join(dir, "s"), &mysql.NopLogger{}
		d.answers = func(context.Context) error { return answersMySQL(c) }
	})
}

// OwnRedis starts a Redis of the test's own that keeps nothing on disk: killed
// and started anew, it is empty.
func OwnRedis(t testing.TB) *Daemon {
	t.Helper()
	dir := serverDir(t, "redis")
	return own(t, dir, func(d *Daemon, port string) {
		d.command = func() *exec.Cmd {
			return exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)
		}
		d.answers = func(ctx context.Context) (err error) {
			client := redis.NewClient(&redis.Options{Addr: d.Addr, MaxRetries: -1})
			defer func() { err = errors.Join(err, client.Close()) }()
			got, err := client.ConfigGet(ctx, "dir").Result()
			if err == nil && got["dir"] != dir {
				err = fmt.Errorf("port %s is another server's", port)
			}
			return err
		}
	})
}

// serverDir is a directory like t.TempDir.
func serverDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rowmill-"+name+"-") //nolint:usetesting // its names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// own starts a daemon on a free port, which another process may take first.
func own(t testing.TB, dir string, set func(d *Daemon, port string)) *Daemon {
	t.Helper()
	d := &Daemon{log: filepath.Join(dir, "log")}
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Errorf("stop the test's server: %v", err)
		}
	})
	var err error
	for range 5 {
		if d.Addr, err = freeAddr(); err != nil {
			break
		}
		_, port, _ := net.SplitHostPort(d.Addr)
		set(d, port)
		if err = d.Start(t.Context()); err == nil {
			return d
		}
	}
	t.Fatalf("start a server: %v", err)
	return nil
}

func freeAddr() (string, error) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return probe.Addr().String(), probe.Close()
}

// Start starts the server, which must not run, and waits until it answers.
func (d *Daemon) Start(ctx context.Context) error {
	log, err := os.Create(d.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server writes to a handle of its own
	cmd := d.command()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	d.cmd, d.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // the log says why
		close(exited)
	}()
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	for {
		refused := d.answers(ctx)
		if refused == nil {
			return nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(d.log)
			return fmt.Errorf("the server has ended: %s", text)
		case <-deadline.C:
			return errors.Join(refused, d.Kill())
		case <-again.C:
		}
	}
}

// Signal sends the running server a signal, such as SIGSTOP and SIGCONT.
func (d *Daemon) Signal(s os.Signal) error { return d.cmd.Process.Signal(s) }

// Kill ends the server by SIGKILL and waits until it is gone.
func (d *Daemon) Kill() error {
	err := d.Signal(syscall.SIGKILL)
	<-d.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (d *Daemon) end() error {
	if d.cmd == nil {
		return nil
	}
	if err := d.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) { // else it does not hear of its end
		return err
	}
	return end(d.cmd, d.exited)
}
