package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxReason is the most bytes of what a process says of itself.
const maxReason = 1 << 10

type healthCmd struct {
	AdminAddr string `name:"admin-addr" env:"ROWMILL_ADMIN_ADDR" default:"127.0.0.1:9090" help:"The process's admin address."`
}

func (h healthCmd) Run(ctx context.Context, s streams) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.AdminAddr+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--admin-addr: %q is not host:port", h.AdminAddr)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask for readiness: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it is of use
	if resp.StatusCode != http.StatusOK {
		what, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // without it the status still tells
		return fmt.Errorf("not ready (%s): %s", resp.Status, bytes.TrimSpace(what))
	}
	_, err = fmt.Fprintln(s.out, "ready")
	return err
}
