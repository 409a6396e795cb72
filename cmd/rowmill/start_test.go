package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"rowmill/internal/testdb"
)

// A process that cannot start says why, in words, and exits with 1.
func TestAFailedStartTellsWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // nothing was sent
	embedded := []string{"serve", "--reservations-addr=127.0.0.1:0", "--gateway-addr=127.0.0.1:0"}
	own := append(embedded, "--redis-url="+testdb.Redis(t), "--token="+testToken)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the port is taken":      {append(embedded, "--gateway-addr="+taken.Addr().String()), "listen for the gateway"},
		"no such port":           {append(embedded, "--gateway-addr=127.0.0.1:99999"), "listen for the gateway"},
		"SQL is away":            {append(own, "--mysql-dsn=root@tcp(127.0.0.1:1)/none"), "database"},
		"the data dir is a file": {append(embedded, "--data-dir=main.go"), "data directory"},
		"the store is no store":  {append(embedded, "--blob-url=file://relative/path"), "file:///directory"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{c.args[0], "--data-dir=" + t.TempDir()}, c.args[1:]...)
			var out, stderr bytes.Buffer
			if code := run(t.Context(), args, streams{&out, &stderr}); code != 1 {
				t.Errorf("exit status %d", code)
			}
			if !strings.Contains(stderr.String(), c.want) || strings.Contains(stderr.String(), "panic") {
				t.Errorf("it says: %s", stderr.String())
			}
		})
	}
}
